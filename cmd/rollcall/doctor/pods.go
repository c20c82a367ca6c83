package doctor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/workload"
)

// template returns the template of a set as it would be with the label that brings the agents.
func template(set *appsv1.StatefulSet) *corev1.PodTemplateSpec {
	t := set.Spec.Template.DeepCopy()
	if t.Labels[v1alpha1.LabelCluster] == "" {
		name := ClusterName(set)
		if name == "" {
			name = "x"
		}
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[v1alpha1.LabelCluster] = name
	}
	return t
}

// agent asks the injection what it would do.
func agent(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		t := template(set)
		_, warnings, err := inject.Template(t, inject.Options{Image: imageOf(t), KeepPreStop: true})
		if err != nil {
			return one(Error, "the agent cannot be added to its pods: "+err.Error(), "change the pod template as it says")
		}
		var out []Finding
		for _, w := range warnings {
			out = append(out, Finding{Severity: Warning, Found: string(w), Fix: fmt.Sprintf(
				"remove the hook, or annotate the pod template with %s: %s (its hook is of the kind exec, and /bin/sh and curl or wget are in the image) or %s",
				v1alpha1.AnnotationPreStop, v1alpha1.PreStopChain, v1alpha1.PreStopKeep)})
		}
		return out
	})
}

// imageOf the agent that a manifest brings itself; which one that is, is for the manifest to say.
func imageOf(t *corev1.PodTemplateSpec) string {
	if c := kube.AgentOf(&t.Spec); c != nil {
		return c.Image
	}
	return "agent"
}

// gracePeriod checks the grace period, in which a pod that others delete is handed over.
func gracePeriod(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		grace, said := int64(30), "not set, which is 30"
		if g := set.Spec.Template.Spec.TerminationGracePeriodSeconds; g != nil {
			grace, said = *g, fmt.Sprint(*g)
		}
		handoff := int64(f.spec(set).Drain.TimeoutSeconds)
		chart := database.ChartOf(set)
		path, of := chart.Value(chart.Grace, "spec.template.spec.terminationGracePeriodSeconds")
		needs := fmt.Sprintf("%s: %d", path, max(handoff, inject.MinGraceSeconds))
		switch {
		case grace < inject.MinGraceSeconds:
			return at(value{needs, of}, one(Warning, fmt.Sprintf("terminationGracePeriodSeconds is %s: too short to hand over a pod that somebody else deletes; pods that get an agent have at least %d, which the template does not show",
				said, inject.MinGraceSeconds), "set "+theValue+" (drain.timeoutSeconds)"))
		case grace < handoff:
			return at(value{needs, of}, one(Info, fmt.Sprintf("terminationGracePeriodSeconds is %d and drain.timeoutSeconds %d: a handover by Rollcall may take longer than one in the stop hook", grace, handoff),
				"set "+theValue+" where handing over a node takes so long"))
		}
		return nil
	})
}

// container finds pods of which nothing tells which container is the database's.
func container(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		t := &set.Spec.Template
		c, sure := workload.Container(t.Annotations, &t.Spec)
		if sure || c == nil {
			return nil
		}
		var names []string
		for i := range t.Spec.Containers {
			names = append(names, t.Spec.Containers[i].Name)
		}
		return one(Warning, fmt.Sprintf("neither image nor port tells which of the containers %s is the database's: the agent would be made for %s", strings.Join(names, ", "), c.Name),
			fmt.Sprintf("annotate the pod template with %s: NAME%s", v1alpha1.AnnotationContainer, inValues(set, database.ChartOf(set).PodAnnotations)))
	})
}

func readiness(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		c := database.Container(&set.Spec.Template)
		switch {
		case c == nil:
			return nil
		case c.ReadinessProbe == nil:
			return one(Warning, "container "+c.Name+" has no readiness probe: it counts as Ready, and gets requests, as soon as its process is there",
				"add one that asks the database, such as its health request over HTTP or its ping command")
		case c.ReadinessProbe.TCPSocket != nil && f.engine(set) != model.FoundationDB: // whose clients do not go by it
			return one(Warning, "the readiness probe of container "+c.Name+" is a TCP connection, which a server accepts before it serves: clients get requests refused after each restart",
				"use httpGet or exec with a request that the database answers")
		}
		return f.contradicts(set, c.Name)
	})
}

// contradicts finds a readiness probe that asks by TLS where a manifest says that its servers speak none,
// or the other way round.
func (f *Facts) contradicts(set *appsv1.StatefulSet, name string) []Finding {
	w, known := f.WantOf(set)
	if !known || f.Live != nil || IsSQL(w.Engine) {
		return nil
	}
	found := "the readiness probe of container " + name + " asks by "
	switch {
	case w.Ready.State == security.Off && w.TLS.State == security.On:
		return one(Warning, found+"HTTP, and its servers want TLS ("+w.TLS.Why+"): where they speak TLS alone, no pod becomes Ready, and a rollout stops at the first", "have it ask by HTTPS")
	case w.Ready.State == security.On && w.TLS.State == security.Off:
		return one(Warning, found+"HTTPS, and its servers speak no TLS ("+w.TLS.Why+"): no pod becomes Ready, and a rollout stops at the first", "have it ask by HTTP")
	}
	return nil
}

func orderedReady(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		if p := set.Spec.PodManagementPolicy; p == appsv1.ParallelPodManagement || replicas(set) < 2 || f.founds(set) {
			return nil
		}
		c := database.ChartOf(set)
		path, of := c.Value(c.Management, "spec.podManagementPolicy")
		return at(value{path + ": Parallel", of}, one(Warning, "podManagementPolicy is OrderedReady: one pod that does not become Ready keeps all of a higher ordinal from being made, also after a whole zone was lost, and one pod at a time is rolled",
			"set "+theValue+"; it cannot be changed in place: kubectl delete statefulset "+theSets+" --cascade=orphan, then apply the chart, which restarts no pod"))
	})
}

// singlePod finds databases of one pod in all.
func singlePod(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		family := f.Family(set)
		if f.isSQL(set) {
			if t, _ := database.New(family, f.Objects()).Topology(); t == model.TopologySingleServer || t == model.TopologyGalera {
				return nil // which says it
			}
		}
		pods := int32(0)
		for _, s := range family {
			pods += replicas(s)
		}
		if pods != 1 {
			return nil
		}
		fix := "two pods at least, and two copies of everything"
		if f.engine(set) == model.ZooKeeper {
			fix = "three servers that vote: of two neither ever goes"
		}
		return one(Warning, "the database has one pod: what it has is out of reach during each restart", fix)
	})
}

// volume checks that data are on volume claims, since only these are kept. Pods that keep no data need
// none.
func volume(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		engine := f.engine(set)
		if len(set.Spec.VolumeClaimTemplates) > 0 || f.spec(set).Drain.Data.Restart != model.DataKeep || engine == "" && ClusterName(set) == "" {
			return nil
		}
		if keeps, _ := database.KeepsData(set, engine, f.Objects()); !keeps {
			return nil
		}
		for _, v := range set.Spec.Template.Spec.Volumes {
			if v.HostPath != nil || v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
				return nil
			}
		}
		if class := processClass(set); engine == model.FoundationDB && class != "" && !keepsData(class) {
			return nil
		}
		roles := ""
		if engine == model.OpenSearch {
			roles = "; nodes without the roles data and cluster_manager need none, and nothing that can be seen says that these are such (node.roles)"
			if named, known := database.NodeRoles(set, f.Objects()); known {
				roles = "; node.roles is " + strings.Join(named, ", ") + ", and what nodes with data or cluster managers have on disk is not to be lost"
			}
		}
		return one(Error, "it has no volumeClaimTemplates, so a pod loses its data when it restarts, and drain.data.restart is Keep"+roles,
			"add volumeClaimTemplates, or set spec.drain.data.restart: Lose, so that each pod of the database is emptied before it restarts, those of its other StatefulSets, too")
	})
}

// spread finds pods that one node or zone would take down together.
func spread(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		if replicas(set) < 2 {
			return nil
		}
		var out []Finding
		t := &set.Spec.Template.Spec
		if !antiAffine(t) && len(t.TopologySpreadConstraints) == 0 {
			out = append(out, Finding{Severity: Warning, Found: "nothing keeps its pods apart: two may be on one node, and go with it together",
				Fix: "add podAntiAffinity by kubernetes.io/hostname, and topologySpreadConstraints by topology.kubernetes.io/zone"})
		}
		if f.Live == nil {
			return out
		}
		on := map[string][]string{}
		for i := range f.Live.Pods {
			if p := &f.Live.Pods[i]; Owned(p, set) && p.Spec.NodeName != "" {
				on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p.Name)
			}
		}
		var nodes []string
		for node, pods := range on {
			if len(pods) > 1 {
				slices.Sort(pods)
				nodes = append(nodes, strings.Join(pods, " and ")+" are on "+node)
			}
		}
		slices.Sort(nodes)
		if len(nodes) > 0 {
			out = append(out, Finding{Severity: Warning, Found: strings.Join(nodes, "; ") + ": the loss of a node takes them together",
				Fix: "keep them apart, and restart one of each (kubectl rollcall restart); a drain of that node empties it one by one"})
		}
		return out
	})
}

func antiAffine(t *corev1.PodSpec) bool {
	a := t.Affinity
	return a != nil && a.PodAntiAffinity != nil &&
		len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)+len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}

// Owned reports whether the pod belongs to the StatefulSet.
func Owned(p *corev1.Pod, set *appsv1.StatefulSet) bool {
	return p.Namespace == set.Namespace && slices.ContainsFunc(p.OwnerReferences, func(o metaOwner) bool {
		return o.Controller != nil && *o.Controller && o.UID == set.UID
	})
}
