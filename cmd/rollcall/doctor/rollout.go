package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

type metaOwner = metav1.OwnerReference

// databaseCluster checks that each labelled StatefulSet has a DatabaseCluster.
func databaseCluster(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		name := ClusterName(set)
		if c := f.clusterOf(set); name == "" || c != nil {
			return otherEngine(set, c)
		}
		severity := Error
		if f.Live == nil {
			severity = Info // it may be applied by itself
		}
		return one(severity, fmt.Sprintf("it is labelled %s: %s, and there is no DatabaseCluster %s", v1alpha1.LabelCluster, name, id(set.Namespace, name)),
			"apply a DatabaseCluster of that name in its namespace, which says at least spec.engine"+f.engineOf(set))
	})
}

// otherEngine finds an image that names another engine than the DatabaseCluster. Of Galera the
// topology says it.
func otherEngine(set *appsv1.StatefulSet, cluster *v1alpha1.DatabaseCluster) []Finding {
	c := database.Container(&set.Spec.Template)
	if cluster == nil || c == nil || cluster.Spec.Engine == "" {
		return nil
	}
	named, said := database.EngineOf(c), cluster.Spec.Engine
	if named == "" || strings.EqualFold(string(named), string(said)) || named == model.Galera || said == model.Galera && named == model.MariaDB {
		return nil
	}
	return one(Warning, fmt.Sprintf("spec.engine of DatabaseCluster %s is %s, and the image %s of container %s is of %s", cluster.Name, said, c.Image, c.Name, named),
		fmt.Sprintf("set spec.engine: %s, unless the image is something else than its name says", named))
}

// label checks the label: on the object it closes the guards, in the template it injects the
// agents.
func label(f *Facts) (out []Finding) {
	for i := range f.Unnamed {
		out = append(out, Finding{Severity: Info, Object: setID(&f.Unnamed[i]), Found: "its image names no database that Rollcall knows, so it is not examined", Fix: "nothing where it is none; else rollcall doctor " + f.Unnamed[i].Name + " --engine ENGINE"})
	}
	for i := range f.Unlabelled {
		out = append(out, f.unlabelled(&f.Unlabelled[i]))
	}
	return append(out, f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		object, pods := set.Labels[v1alpha1.LabelCluster], set.Spec.Template.Labels[v1alpha1.LabelCluster]
		if role, there := set.Spec.Template.Labels[v1alpha1.LabelRole]; there {
			return one(Error, fmt.Sprintf("its pod template has the label %s: %s, as if every pod were that", v1alpha1.LabelRole, role),
				"take it out of the pod template: Rollcall labels each pod with what its member is")
		}
		switch {
		case object == "" && pods == "":
			return at(podLabels(set), one(Info, "it has no label "+v1alpha1.LabelCluster+", so Rollcall leaves it alone",
				"kubectl label statefulset "+theSets+" "+v1alpha1.LabelCluster+"=NAME restarts nothing; the same in the pod template ("+theValue+") only when Rollcall guards the pods, or Kubernetes rolls that change by itself. kubectl rollcall enroll "+f.enrolled(set)+" does the first, waits, and says what is left"))
		case object != "" && pods != "" && object != pods:
			return one(Error, fmt.Sprintf("its label %s is %s and that of its pod template %s", v1alpha1.LabelCluster, object, pods), "give both the name of the DatabaseCluster")
		case pods == "":
			return at(podLabels(set), one(Warning, "the label "+v1alpha1.LabelCluster+" is not in its pod template: new pods get no agent, and without agents one pod at a time goes by readiness alone",
				"add it to the pod template ("+theValue+") when the pods are guarded, or with OnDelete: all pods are rolled once then, by Rollcall"))
		case object == "":
			return one(Warning, "the label "+v1alpha1.LabelCluster+" is in its pod template only: the pods that run are not guarded until they are made again",
				"kubectl label statefulset "+theSets+" "+v1alpha1.LabelCluster+"="+pods+" restarts nothing, and helm upgrade keeps it (kubectl rollcall enroll does it)")
		}
		return nil
	})...)
}

// unlabelled is what is said of a StatefulSet without the label beside others that have it.
func (f *Facts) unlabelled(set *appsv1.StatefulSet) Finding {
	found := Finding{Severity: Info, Object: setID(set), Found: "it has no label " + v1alpha1.LabelCluster + ", and others have: it is not examined", Fix: "rollcall doctor " + set.Name + " examines it"}
	family := f.Family(set)
	if i := slices.IndexFunc(family, func(s *appsv1.StatefulSet) bool { return ClusterName(s) != "" }); i >= 0 {
		name := ClusterName(family[i])
		found.Severity = Warning
		found.Found = fmt.Sprintf("it has no label %s, and seems to be of one database with StatefulSet %s, which has: Rollcall would know nothing of its pods, and they restart whatever those of %s do", v1alpha1.LabelCluster, family[i].Name, name)
		found.Fix = "give it the label " + v1alpha1.LabelCluster + ": " + name + ", unless it is a database of its own"
	}
	return found
}

// podLabels says where the labels of the pod template are set.
func podLabels(set *appsv1.StatefulSet) value {
	c := database.ChartOf(set)
	if c.Claims {
		return value{path: "by kubectl patch, as deploy/docs/doctor.md#labels-of-volume-claims shows, and not by the values of chart " + c.Name}
	}
	path, of := c.Value(c.PodLabels, "spec.template.metadata.labels")
	return value{path, of}
}

// spec asks the policy which settings of a DatabaseCluster are invalid.
func spec(f *Facts) (out []Finding) {
	for i := range f.Clusters {
		c := &f.Clusters[i]
		s := model.Snapshot{Version: model.Version, Now: model.At(time.Now()), Cluster: model.Cluster{Namespace: c.Namespace, Name: c.Name, Spec: c.Spec}}
		for _, p := range model.Validate(&s) {
			field, of := strings.CutPrefix(p.Field, "cluster.spec.")
			if !of {
				continue // of what was read besides
			}
			out = append(out, Finding{
				Severity: Error, Object: "DatabaseCluster " + id(c.Namespace, c.Name), Found: "spec." + field + " " + p.Reason,
				Fix: "correct it: Rollcall would hold all pods with bad-input",
			})
		}
	}
	return out
}

// partition says where a partition is named, and how.
func partition(set *appsv1.StatefulSet) (where value, fix string) {
	c := database.ChartOf(set)
	if c.OnDelete != "" {
		return value{path: c.OnDelete}, "rollcall enroll names it in the object, which restarts nothing; chart " + c.Name + " has no value for it, and leaves it as it is. Or set " + theValue + " in its values"
	}
	path, of := c.Value(c.Partition, "spec.updateStrategy.rollingUpdate.partition")
	return value{path + ": 0", of}, "set " + theValue + ", which restarts nothing (rollcall enroll does it in the object), or make it OnDelete"
}

// updateStrategy checks which controller rolls the pods.
func updateStrategy(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
			return nil
		}
		spec := f.spec(set)
		switch {
		case spec.Update.RollingUpdate == model.RollingUpdateByPartition:
			return nil
		case spec.Update.Mode == model.ModeObserve:
			return unguarded(set)
		case set.Spec.UpdateStrategy.RollingUpdate == nil:
			where, fix := partition(set)
			return at(where, one(Error, "its updateStrategy is RollingUpdate and names no partition: Kubernetes would bring pods of low ordinals back on the old revision, so Rollcall holds with bad-input",
				fix))
		case spec.Guard != model.GuardEnforce:
			return one(Error, fmt.Sprintf("its updateStrategy is RollingUpdate and spec.guard %s: nothing keeps Kubernetes from rolling its pods by itself, so Rollcall holds with bad-input", spec.Guard),
				"set updateStrategy: OnDelete, or spec.guard: Enforce, or spec.update.rollingUpdate: Partition")
		}
		return one(Info, "its updateStrategy is RollingUpdate: its pods are held by the guard while Kubernetes tries to roll them", "updateStrategy: OnDelete needs no guard for that")
	})
}

// unguarded says what RollingUpdate means in Observe, where nothing is guarded.
func unguarded(set *appsv1.StatefulSet) []Finding {
	const found = "its updateStrategy is RollingUpdate, and with update.mode Observe nothing is guarded: "
	if set.Spec.Template.Labels[v1alpha1.LabelCluster] == "" {
		return one(Warning, found+"Kubernetes rolls each change of its pod template by itself, and the plan shows bad-input",
			"set updateStrategy: OnDelete before you change the pod template, and while you want to see a plan")
	}
	return one(Error, found+"its pod template has the label "+v1alpha1.LabelCluster+", and Kubernetes rolls that change, and each later one, by itself",
		"set updateStrategy: OnDelete before the pod template changes; or take the label out of it until update.mode is Auto and the Event GuardEnforced is there; or set update.paused instead of Observe, which keeps the guard closed")
}

// zones checks that zones are known if the policy counts them.
func zones(f *Facts) []Finding {
	if f.Live == nil {
		return nil
	}
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		spec := f.spec(set)
		if f.clusterOf(set) == nil || spec.Policy.Unit != model.UnitZone && spec.Policy.MaxZonesUnavailable == nil {
			return nil
		}
		var without []string
		for i := range f.Live.Nodes {
			if n := &f.Live.Nodes[i]; n.Labels[spec.Policy.ZoneKey] == "" {
				without = append(without, n.Name)
			}
		}
		slices.Sort(without)
		if len(without) == 0 {
			return nil
		}
		return one(Warning, fmt.Sprintf("zones count (policy.unit or policy.maxZonesUnavailable), and %d of %d nodes have no label %s, such as %s", len(without), len(f.Live.Nodes), spec.Policy.ZoneKey, without[0]),
			"label the nodes, or name the label that they have in policy.zoneKey")
	})
}

// client checks that FoundationDB's own client program is mounted.
func client(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		if f.engine(set) != model.FoundationDB {
			return nil
		}
		for _, v := range set.Spec.Template.Spec.Volumes {
			if v.Name == "rollcall-client" {
				return nil
			}
		}
		return one(Error, "there is no volume rollcall-client in its pods, from which the agent runs fdbcli", "add it as deploy/docs/foundationdb.md shows: an emptyDir into which an init container of the server's image copies fdbcli")
	})
}

// credentials checks that SQL servers have credentials, without which they refuse the agent.
func credentials(f *Facts) []Finding {
	if f.Live == nil {
		return nil
	}
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		if !f.wantsCredentials(set) {
			return nil
		}
		name := id(set.Namespace, f.credentialsSecret(set))
		if !slices.Contains(f.Secrets, name) {
			return one(Error, "there is no Secret "+name+" with the username and password of the agents",
				"make it (keys username, password) for the account that "+AccountPage(f.spec(set).Engine)+" grants, with the label "+v1alpha1.LabelCluster+"="+ClusterName(set)+", or name another: spec.connection.credentialsSecret, rollcall enroll --credentials-secret, or the annotation "+v1alpha1.AnnotationCredentialsSecret)
		}
		keys, read := f.Live.SecretKeys[name]
		lacks := slices.DeleteFunc([]string{"username", "password"}, func(key string) bool { return slices.Contains(keys, key) })
		if !read || len(lacks) == 0 {
			return nil
		}
		return one(Error, "Secret "+name+" has no "+strings.Join(lacks, " and no ")+" of the agents",
			"give it the keys username and password of the account that "+AccountPage(f.spec(set).Engine)+" grants")
	})
}

// wantsCredentials reports whether the agent needs credentials: for SQL servers always, for others
// only if the user says so.
func (f *Facts) wantsCredentials(set *appsv1.StatefulSet) bool {
	e := f.spec(set).Engine
	return f.clusterOf(set) != nil && (IsSQL(e) || f.named(set) != "")
}

// named returns the Secret that the pod template or the DatabaseCluster names.
func (f *Facts) named(set *appsv1.StatefulSet) string {
	if name := set.Spec.Template.Annotations[v1alpha1.AnnotationCredentialsSecret]; name != "" {
		return name
	}
	return f.spec(set).Connection.CredentialsSecret
}

func (f *Facts) credentialsSecret(set *appsv1.StatefulSet) string {
	if name := f.named(set); name != "" {
		return name
	}
	return v1alpha1.CredentialsSecretName(ClusterName(set))
}
