package enroll

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// set is a StatefulSet of three pods with OnDelete, about which nothing is said yet.
func set(name, image string, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	three := int32(3)
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", UID: types.UID("uid-" + name)}}
	s.Spec.Replicas, s.Spec.UpdateStrategy.Type = &three, appsv1.OnDeleteStatefulSetStrategyType
	s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "db", Image: image}}
	for _, change := range changes {
		change(s)
	}
	return s
}

func labelled(name string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { metav1.SetMetaDataLabel(&s.ObjectMeta, v1alpha1.LabelCluster, name) }
}

func inTemplate(name string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Spec.Template.Labels = map[string]string{v1alpha1.LabelCluster: name}
	}
}

// partitioned has RollingUpdate; with a negative partition it names none.
func partitioned(at int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
		if at >= 0 {
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &at}
		}
	}
}

// switchable has servers of MySQL that start as a switchover needs them.
func switchable(s *appsv1.StatefulSet) {
	s.Spec.Template.Spec.Containers[0].Args = []string{
		"--super-read-only=ON", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--report-host=$(POD_NAME).db", "--server-id=$(ID)",
	}
}

func cluster(name string, spec model.Spec) v1alpha1.DatabaseCluster {
	return v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", UID: "c1", Generation: 2}, Spec: spec}
}

func facts(sets ...*appsv1.StatefulSet) *doctor.Facts {
	f := &doctor.Facts{Live: &doctor.Live{ControllersHaveAccounts: true, Install: "rollcall-system"}}
	for _, s := range sets {
		f.Sets = append(f.Sets, *s)
	}
	return f
}

func with(f *doctor.Facts, clusters ...v1alpha1.DatabaseCluster) *doctor.Facts {
	f.Clusters = clusters
	return f
}

func options(sets ...string) Options { return Options{Namespace: "prod", Sets: sets} }

func TestSteps(t *testing.T) {
	for name, c := range map[string]struct {
		facts *doctor.Facts
		sets  []string
		name  string
		want  []string
	}{
		"OnDelete": {facts(set("solr", "solr")), []string{"solr"}, "solr", []string{
			"statefulset/solr labelled rollcall.dev/cluster=solr", "databasecluster/solr created",
		}},
		"RollingUpdate that names no partition": {facts(set("solr", "solr", partitioned(-1))), []string{"solr"}, "solr", []string{
			"statefulset/solr names its partition: 0", "statefulset/solr labelled rollcall.dev/cluster=solr", "databasecluster/solr created",
		}},
		"RollingUpdate that names one": {facts(set("solr", "solr", partitioned(2))), []string{"solr"}, "solr", []string{
			"statefulset/solr labelled rollcall.dev/cluster=solr", "databasecluster/solr created",
		}},
		"the DatabaseCluster is the last": {facts(set("data", "opensearch", partitioned(-1)), set("managers", "opensearch"), set("zk", "zookeeper")), []string{"managers", "data", "managers"}, "managers", []string{
			"statefulset/managers labelled rollcall.dev/cluster=managers",
			"statefulset/data names its partition: 0", "statefulset/data labelled rollcall.dev/cluster=managers", "databasecluster/managers created",
		}},
		"one more for a database that is there": {with(facts(set("data", "opensearch", labelled("logs")), set("hot", "opensearch")), cluster("logs", model.Spec{Engine: model.OpenSearch})), []string{"hot", "data"}, "logs", []string{
			"statefulset/hot labelled rollcall.dev/cluster=logs",
		}},
		"all is there": {with(facts(set("solr", "solr", labelled("search"), partitioned(0))), cluster("search", model.Spec{Engine: model.Solr})), []string{"solr"}, "search", nil},
		"the label is in the template": {facts(set("solr", "solr", inTemplate("search"))), []string{"solr"}, "search", []string{
			"statefulset/solr labelled rollcall.dev/cluster=search", "databasecluster/search created",
		}},
		"by partition Rollcall writes it itself": {with(facts(set("solr", "solr", labelled("search"), partitioned(-1))),
			cluster("search", model.Spec{Engine: model.Solr, Update: model.Update{RollingUpdate: model.RollingUpdateByPartition}})), []string{"solr"}, "search", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Decide(c.facts, options(c.sets...))
			require.NoError(t, err)
			require.Equal(t, c.name, p.Name)
			var got []string
			for _, s := range p.Steps {
				got = append(got, s.Said)
				require.Equal(t, s.Set == "", s.Command == "")
				if s.Set != "" {
					patch, err := s.PatchOf("7")
					require.NoError(t, err)
					require.Contains(t, string(patch), `"uid":"uid-`+s.Set+`"`)
				}
			}
			require.Equal(t, c.want, got)

			after := p.Facts(c.facts)
			again, err := Decide(with(facts(pointers(after.Sets)...), after.Clusters...), options(c.sets...))
			require.NoError(t, err)
			require.Empty(t, again.Steps, "once all is written, nothing is left")
			for _, found := range doctor.Examine(after) {
				mended := found.Check == "database-cluster" || found.Check == "update-strategy"
				require.False(t, mended && found.Severity == doctor.Error, found.Found)
			}
		})
	}
}

func pointers(sets []appsv1.StatefulSet) (out []*appsv1.StatefulSet) {
	for i := range sets {
		out = append(out, &sets[i])
	}
	return out
}

func TestFactsAreOfTheWholeDatabase(t *testing.T) {
	f := facts(set("data", "opensearch"), set("managers", "opensearch", labelled("logs")), set("zk", "zookeeper"))
	p, err := Decide(f, Options{Namespace: "prod", Sets: []string{"data"}, Name: "logs"})
	require.NoError(t, err)
	after := p.Facts(f)
	require.Len(t, after.Sets, 2)
	require.Empty(t, f.Sets[0].Labels, "what was read stays as it was")
}

func TestWhatDoesNotGoTogether(t *testing.T) {
	solr := with(facts(set("solr", "solr", labelled("search")), set("other", "solr")), cluster("search", model.Spec{Engine: model.Solr}))
	for name, c := range map[string]struct {
		facts *doctor.Facts
		o     Options
		want  string
	}{
		"nobody":           {facts(set("b", "solr"), set("a", "solr")), options("c"), "there is no StatefulSet c in namespace prod; there are a, b"},
		"nothing":          {facts(), options("c"), "there is no StatefulSet c in namespace prod; there is none in that namespace"},
		"no name":          {facts(set("b", "solr")), options(), "the name of a StatefulSet is required; there are b"},
		"another name":     {solr, Options{Namespace: "prod", Sets: []string{"solr"}, Name: "books"}, "StatefulSet solr has the label rollcall.dev/cluster=search, and --name says books: "},
		"two names":        {facts(set("a", "solr", labelled("x")), set("b", "solr", labelled("y"))), options("a", "b"), "StatefulSet b has the label rollcall.dev/cluster=y, and the label of StatefulSet a says x: "},
		"a wrong name":     {facts(set("a", "solr")), Options{Namespace: "prod", Sets: []string{"a"}, Name: "Search"}, `--name, "Search", is not a valid name for a DatabaseCluster: `},
		"a long name":      {facts(set(strings.Repeat("a", 55), "solr")), options(strings.Repeat("a", 55)), "the name of the StatefulSet, "},
		"a name with dots": {facts(set("a.b", "solr")), options("a.b"), `the name of the StatefulSet, "a.b", is not a valid name for a DatabaseCluster: `},
		"another engine":   {solr, Options{Sets: []string{"solr"}, Engine: model.MySQL}, "--engine is MySQL, and DatabaseCluster search, which is there and is left as it is, has spec.engine: Solr; leave out --engine, or change spec.engine first"},
		"other accounts":   {solr, Options{Sets: []string{"solr"}, CredentialsSecret: "mine"}, `--credentials-secret is mine, and DatabaseCluster search, which is there and is left as it is, has spec.connection.credentialsSecret: ""; `},
		"to observe":       {solr, Options{Sets: []string{"solr"}, Observe: true}, "--observe is given, and DatabaseCluster search, which is there and is left as it is, has spec.update.mode: Auto; "},
		"no engine":        {facts(set("a", "db:1")), options("a"), "set --engine to one of"},
	} {
		_, err := Decide(c.facts, c.o)
		require.ErrorContains(t, err, c.want, name)
	}
}
