package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Owner is an object of an operator that makes StatefulSets.
type Owner struct {
	APIVersion, Kind, Namespace, Name string
	// Object is what it says; nil means that it was not read.
	Object map[string]any
}

// operator makes databases, and removes their pods itself.
type operator struct {
	name string
	// groups of its API, and the kinds of objects in them that are databases.
	groups, kinds []string
	// labels are on its StatefulSets, each enough by itself: a key, or a key and its value.
	labels []string
	// section of deploy/docs/coming-from.md.
	section string
	// quiet says why it leaves pods alone, as its object says; empty means that it does not.
	quiet func(map[string]any) string
}

const managedBy = "app.kubernetes.io/managed-by="

var operators = []operator{
	{"the Solr operator", []string{"solr.apache.org"}, []string{"SolrCloud"}, []string{"technology=solr-cloud"}, "solr-operator", func(o map[string]any) string {
		if method, _, _ := unstructured.NestedString(o, "spec", "updateStrategy", "method"); method != "Manual" {
			return ""
		}
		return "updateStrategy.method is Manual"
	}},
	{"the OpenSearch operator", []string{"opensearch.opster.io", "opensearch.org"}, []string{"OpenSearchCluster"}, []string{"opster.io/opensearch-cluster", "opensearch.org/opensearch-cluster"}, "opensearch-operator", nil},
	{"MOCO", []string{"moco.cybozu.com"}, []string{"MySQLCluster"}, []string{"app.kubernetes.io/created-by=moco"}, "moco", func(o map[string]any) string {
		const stopped = "moco.cybozu.com/clustering-stopped"
		if value, _, _ := unstructured.NestedString(o, "metadata", "annotations", stopped); value != "true" {
			return ""
		}
		return "its annotation " + stopped + " is true"
	}},
	{"mariadb-operator", []string{"k8s.mariadb.com", "enterprise.mariadb.com", "mariadb.mmontes.io"}, []string{"MariaDB"}, []string{managedBy + "mariadb-operator"}, "mariadb-operator", func(o map[string]any) string {
		if suspended, _, _ := unstructured.NestedBool(o, "spec", "suspend"); !suspended {
			return ""
		}
		return "suspend is true"
	}},
	{"Percona's operator", []string{"pxc.percona.com", "ps.percona.com"}, []string{"PerconaXtraDBCluster", "PerconaServerMySQL"},
		[]string{managedBy + "percona-xtradb-cluster-operator", managedBy + "percona-server-mysql-operator", managedBy + "percona-server-operator"}, "percona-operators", nil},
	{"Oracle's MySQL operator", []string{"mysql.oracle.com"}, []string{"InnoDBCluster"}, []string{"mysql.oracle.com/cluster"}, "oracles-mysql-operator", nil},
	{"the FoundationDB operator", []string{"apps.foundationdb.org"}, []string{"FoundationDBCluster"}, []string{"foundationdb.org/fdb-cluster-name"}, "foundationdb-operator", nil},
	{"a ZooKeeper operator", []string{"zookeeper.pravega.io", "zookeeper.stackable.tech"}, []string{"ZookeeperCluster"}, []string{"kind=ZookeeperMember"}, "zookeeper-operators", nil},
}

// operatorOf returns the operator that makes a StatefulSet, by its owner or its labels; nil means that
// none can be seen.
func operatorOf(set *appsv1.StatefulSet) *operator {
	if owner := metav1.GetControllerOfNoCopy(set); owner != nil {
		return operatorOfGroup(groupOf(owner.APIVersion))
	}
	for i := range operators {
		for _, label := range operators[i].labels {
			key, want, valued := strings.Cut(label, "=")
			for _, labels := range []map[string]string{set.Labels, set.Spec.Template.Labels} {
				if value, there := labels[key]; there && (!valued || value == want) {
					return &operators[i]
				}
			}
		}
	}
	return nil
}

func groupOf(apiVersion string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}

func operatorOfGroup(group string) *operator {
	for i := range operators {
		if slices.Contains(operators[i].groups, group) {
			return &operators[i]
		}
	}
	return nil
}

// isOperated reports whether objects of this kind are databases that an operator makes.
func isOperated(apiVersion, kind string) bool {
	o := operatorOfGroup(groupOf(apiVersion))
	return o != nil && slices.Contains(o.kinds, kind)
}

// Operated returns what is said of StatefulSets of these names that operators make.
func (f *Facts) Operated(names []string) (out []Finding) {
	named := *f
	named.Sets = slices.DeleteFunc(slices.Clone(f.Sets), func(s appsv1.StatefulSet) bool { return !slices.Contains(names, s.Name) })
	for _, found := range operated(&named) {
		if strings.HasPrefix(found.Object, "StatefulSet") {
			found.Check = "operator"
			out = append(out, found)
		}
	}
	return out
}

// OwnersOf returns the operators' objects that own StatefulSets, without what they say.
func (f *Facts) OwnersOf() (out []Owner) {
	for i := range f.Sets {
		set := &f.Sets[i]
		owner := metav1.GetControllerOfNoCopy(set)
		if owner == nil {
			continue
		}
		o := Owner{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: set.Namespace, Name: owner.Name}
		same := func(have Owner) bool {
			return have.APIVersion == o.APIVersion && have.Kind == o.Kind && have.Name == o.Name
		}
		if op := operatorOfGroup(groupOf(o.APIVersion)); op != nil && op.quiet != nil && !slices.ContainsFunc(out, same) {
			out = append(out, o)
		}
	}
	return out
}

// ReadOwner adds an owner with what it says, in JSON.
func (f *Facts) ReadOwner(o Owner, text []byte) error {
	if err := json.Unmarshal(text, &o.Object); err != nil {
		return err
	}
	f.Owners = append(f.Owners, o)
	return nil
}

// operated finds databases of operators: two programs must not roll the same pods.
func operated(f *Facts) []Finding {
	said := map[string]bool{}
	out := f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		owner := metav1.GetControllerOfNoCopy(set)
		op := operatorOf(set)
		switch {
		case op == nil && owner == nil:
			return nil
		case op == nil:
			return one(Warning, fmt.Sprintf("%s %s owns it: whether its controller removes pods, or takes back what is changed here, cannot be told", owner.Kind, owner.Name),
				"see what that controller does before you go on (deploy/docs/coming-from.md#other-operators)")
		case owner == nil:
			return op.found("its labels say that "+op.name+" makes it", "")
		}
		said[owner.Kind+" "+owner.Name] = true
		return op.found(owner.Kind+" "+owner.Name+" of "+op.name+" owns it", op.leaves(f.ownerOf(set)))
	})
	for _, o := range f.Owners {
		op := operatorOfGroup(groupOf(o.APIVersion))
		if op == nil || said[o.Kind+" "+o.Name] {
			continue
		}
		for _, found := range op.found(op.name+" makes a database of it", op.leaves(o.Object)) {
			found.Object = o.Kind + " " + id(o.Namespace, o.Name)
			out = append(out, found)
		}
	}
	return out
}

func (o *operator) leaves(object map[string]any) string {
	if o.quiet == nil || object == nil {
		return ""
	}
	return o.quiet(object)
}

// found is the finding about a database of the operator, which leaves pods alone where it is quiet.
func (o *operator) found(who, quiet string) []Finding {
	section := "deploy/docs/coming-from.md#" + o.section
	if quiet != "" {
		return one(Info, who+", and the operator leaves its pods alone: "+quiet, "keep it so; "+section)
	}
	return one(Error, who+", and rolls its pods by itself: two programs must not roll the same pods", section+" says what can be done. Nothing else of it is examined")
}

// withoutOperated are the facts without the StatefulSets that operators roll: what is to be changed of
// these is for the operator to say.
func (f *Facts) withoutOperated() *Facts {
	rest := *f
	rest.Others = slices.Clone(f.Others)
	rest.Sets = nil
	for i := range f.Sets {
		set := &f.Sets[i]
		if op := operatorOf(set); op != nil && op.leaves(f.ownerOf(set)) == "" {
			rest.Others = append(rest.Others, *set)
			continue
		}
		rest.Sets = append(rest.Sets, *set)
	}
	return &rest
}

// ownerOf is what the object says that owns a StatefulSet; nil means that it was not read.
func (f *Facts) ownerOf(set *appsv1.StatefulSet) map[string]any {
	owner := metav1.GetControllerOfNoCopy(set)
	for _, o := range f.Owners {
		if owner != nil && o.Kind == owner.Kind && o.Name == owner.Name && sameNamespace(o.Namespace, set.Namespace) {
			return o.Object
		}
	}
	return nil
}
