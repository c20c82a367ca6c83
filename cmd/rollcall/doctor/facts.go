package doctor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Facts are what is examined. For a chart only its objects are known: Live is nil, and checks that
// need a cluster are skipped.
type Facts struct {
	Sets []appsv1.StatefulSet
	// Others are StatefulSets that are not examined. They may be of the same database.
	Others []appsv1.StatefulSet
	// Unnamed are those of Others whose images name no database, beside others that do.
	Unnamed []appsv1.StatefulSet
	// Unlabelled are those of Others that look like databases, beside others with the label.
	Unlabelled []appsv1.StatefulSet
	// SQL are the names of StatefulSets of which the user says that they are of MySQL or MariaDB.
	SQL []string
	// Engine is what the user says of StatefulSets of which nothing else says what they are.
	Engine   model.Engine
	Clusters []v1alpha1.DatabaseCluster
	// Services, and the ConfigMaps that pod templates name, as far as they could be read.
	Services   []corev1.Service
	ConfigMaps []corev1.ConfigMap
	Budgets    []policyv1.PodDisruptionBudget
	Policies   []networkingv1.NetworkPolicy
	Secrets    []string // namespace/name
	// SecretMetas are the labels and annotations of Secrets that were looked at, by namespace/name;
	// nil means there is none.
	SecretMetas map[string]*metav1.ObjectMeta
	// Certificates are those in Secrets, by namespace/name and then by key.
	Certificates map[string]map[string][]byte
	// Said is what the user says of connections.
	Said Said
	// Owners are the objects of operators that make StatefulSets, as far as they could be read.
	Owners []Owner
	// Rendered are the Secrets of a manifest with values that a chart seems to have made up.
	Rendered []RenderedSecret
	// Misread lists unknown fields in the text.
	Misread []Finding
	Live    *Live
}

// Live is what only a cluster has.
type Live struct {
	// Version is the version of Kubernetes, such as v1.34.1.
	Version string
	// ControllersHaveAccounts means that each controller of Kubernetes acts under its own name.
	ControllersHaveAccounts bool
	// Install is the namespace of the coordinator; its labels, as far as they may be read.
	Install       string
	InstallLabels labels.Set
	Nodes         []corev1.Node
	Pods          []corev1.Pod
	// Snapshots are what the coordinator decided on last, by namespace/name.
	Snapshots map[string]*model.Snapshot
	// Refusals are what the coordinator and the agents have refused lately, by namespace/name.
	Refusals map[string][]*rollcallv1.Refusal
	// SecretKeys are the keys with a value of Secrets that could be read, by namespace/name.
	SecretKeys map[string][]string
	// Heard is what pods answered, by the names of their StatefulSets.
	Heard map[string]Heard
	// GossipFrom is from where the agents of a database take gossip, in the coordinator's
	// words, by namespace/name.
	GossipFrom map[string]string
	// Admission is what the API server said of pods with an agent in a dry run.
	Admission []Finding
	// Unread is what could not be read, and why.
	Unread []string
}

// Tried notes what could not be read, and says whether it was.
func (l *Live) Tried(what string, err error) bool {
	if err != nil {
		l.Unread = append(l.Unread, fmt.Sprintf("%s: %v", what, err))
	}
	return err == nil
}

// Only keeps the StatefulSets of these names, or of DatabaseClusters of these names. Without names
// it keeps those that are labelled as a database's, because others, such as a chart's ZooKeeper,
// are not; if none is labelled, those whose images or ports say that they are databases. It returns an
// error where nothing says which database they are of.
func (f *Facts) Only(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(f.Sets, func(s appsv1.StatefulSet) bool { return s.Name == name || ClusterName(&s) == name }) {
			var there []string
			for i := range f.Sets {
				there = append(there, f.Sets[i].Name)
			}
			if len(there) == 0 {
				return fmt.Errorf("there is no StatefulSet, so none is named %s or belongs to a DatabaseCluster %s", name, name)
			}
			return fmt.Errorf("no StatefulSet is named %s or belongs to a DatabaseCluster %s; there are %s", name, name, strings.Join(there, ", "))
		}
	}
	f.keep(func(s *appsv1.StatefulSet) bool {
		return len(names) == 0 || slices.Contains(names, s.Name) || slices.Contains(names, ClusterName(s))
	})
	if len(names) == 0 {
		f.databases()
	}
	if err := f.unknown(); err != nil {
		return err
	}
	f.Clusters = slices.DeleteFunc(f.Clusters, func(c v1alpha1.DatabaseCluster) bool {
		return len(names) > 0 && !slices.ContainsFunc(f.Sets, func(s appsv1.StatefulSet) bool { return ClusterName(&s) == c.Name })
	})
	return nil
}

func (f *Facts) databases() {
	for _, is := range []func(*appsv1.StatefulSet) bool{func(s *appsv1.StatefulSet) bool { return ClusterName(s) != "" }, isDatabase} {
		if !slices.ContainsFunc(f.Sets, func(s appsv1.StatefulSet) bool { return is(&s) }) {
			continue
		}
		before := len(f.Others)
		f.keep(is)
		left := f.Others[before:]
		if slices.ContainsFunc(f.Sets, func(s appsv1.StatefulSet) bool { return ClusterName(&s) == "" }) {
			f.Unnamed = left
			return
		}
		f.Unlabelled = slices.DeleteFunc(slices.Clone(left), func(s appsv1.StatefulSet) bool { return !isDatabase(&s) })
		return
	}
}

// isDatabase reports whether a StatefulSet looks like a database that Rollcall knows, or an operator
// made it.
func isDatabase(set *appsv1.StatefulSet) bool {
	c := database.Container(&set.Spec.Template)
	return c != nil && (database.EngineOf(c) != "" || database.IsSQL(set)) || operatorOf(set) != nil
}

func (f *Facts) keep(which func(*appsv1.StatefulSet) bool) {
	f.Sets = slices.DeleteFunc(slices.Clone(f.Sets), func(s appsv1.StatefulSet) bool {
		if !which(&s) {
			f.Others = append(f.Others, s)
		}
		return !which(&s)
	})
}

// CredentialsSecrets are the names of Secrets that must be there.
func (f *Facts) CredentialsSecrets() []string {
	var names []string
	for i := range f.Sets {
		if set := &f.Sets[i]; f.wantsCredentials(set) {
			names = append(names, f.credentialsSecret(set))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ClusterName is the DatabaseCluster that a StatefulSet belongs to, or will; empty means none is
// said.
func ClusterName(set *appsv1.StatefulSet) string {
	if name := set.Labels[v1alpha1.LabelCluster]; name != "" {
		return name
	}
	return set.Spec.Template.Labels[v1alpha1.LabelCluster]
}

// clusterOf is the DatabaseCluster of a StatefulSet; nil means it is not known.
func (f *Facts) clusterOf(set *appsv1.StatefulSet) *v1alpha1.DatabaseCluster {
	name := ClusterName(set)
	i := slices.IndexFunc(f.Clusters, func(c v1alpha1.DatabaseCluster) bool {
		return c.Name == name && sameNamespace(c.Namespace, set.Namespace)
	})
	if name == "" || i < 0 {
		return nil
	}
	return &f.Clusters[i]
}

// spec is what the DatabaseCluster of a StatefulSet says, with defaults; without one, the
// defaults.
func (f *Facts) spec(set *appsv1.StatefulSet) model.Spec {
	if c := f.clusterOf(set); c != nil {
		cluster := model.Cluster{Spec: c.Spec, Engine: coordinator.FactsOf(c.Spec.Engine)}
		return cluster.SpecWithDefaults()
	}
	return model.Spec{}.WithDefaults()
}

// sameNamespace reports whether two namespaces are the same. Objects of a chart often name none,
// and all go to that of the release.
func sameNamespace(a, b string) bool { return a == b || a == "" || b == "" }

func id(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func setID(set *appsv1.StatefulSet) string { return "StatefulSet " + id(set.Namespace, set.Name) }

func one(s Severity, found, fix string) []Finding {
	return []Finding{{Severity: s, Found: found, Fix: fix}}
}

// replicas that a StatefulSet wants.
func replicas(set *appsv1.StatefulSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}
