package enroll

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

const (
	adoptMySQL = `Left to do, in this order:

 1. Put the label into the pod template of StatefulSet mysql,
    by the values of the chart, and upgrade the release. Rollcall holds that change until
    you approve it.

        metadata:    # of the pod template
          labels:
            rollcall.dev/cluster: mysql

 2. Let Rollcall restart each pod once, one at a time, for its agent.
    Before you do, see that mysql-7, which goes first, is not the primary.

        kubectl rollcall approve mysql -n prod --what adopt

 3. Follow it until the primary is the only one left (veto, "which has no agent"), and end it with Ctrl-C.

        kubectl rollcall status mysql -n prod --wait --timeout 1h

 4. Delete the primary's pod: nobody can write for 10 to 20 seconds. With less than one, by moving
    its role by hand: deploy/docs/mysql.md#move-the-role-by-hand

        kubectl -n prod label pod PRIMARY rollcall.dev/guard=open --overwrite
        kubectl -n prod delete pod PRIMARY
        kubectl rollcall status mysql -n prod --wait
`
	adoptOpenSearch = `Left to do, in this order:

 1. Put the label into the pod template of StatefulSet data and StatefulSet managers,
    by the values of the chart, and upgrade the release. Rollcall holds that change until
    you approve it.
    The chart of StatefulSet data cannot name the partition, and leaves it as it is.

        labels:
          rollcall.dev/cluster: logs

 2. Let Rollcall restart each pod once, one at a time, for its agent.

        kubectl rollcall approve logs -n prod --what adopt

 3. Follow it to its end.

        kubectl rollcall status logs -n prod --wait --timeout 1h
`
	approveOnly = `Left to do, in this order:

 1. Let Rollcall restart each pod once, one at a time, for its agent.

        kubectl rollcall approve solr -n prod --what adopt

 2. Follow it to its end.

        kubectl rollcall status solr -n prod --wait --timeout 1h
`
	byPatch = `
 1. Put the label into the pod template of StatefulSet data.
    Not by the values: the chart has it in spec.volumeClaimTemplates, too, which nobody can
    change, and the upgrade would be refused. Upgrades leave what is patched as it is.

        kubectl -n prod patch statefulset data -p '{"spec":{"template":{"metadata":{"labels":{"rollcall.dev/cluster":"data"}}}}}'
`
	nothing = `Nothing is left to do: each change of its StatefulSets is rolled from now on.

        kubectl rollcall status solr -n prod
`
	observe = `Left to do, in this order:

 1. See what Rollcall would do.

        kubectl rollcall plan solr -n prod

 2. Let it act.

        kubectl -n prod patch dbc solr --type=merge -p '{"spec":{"update":{"mode":"Auto"}}}'

 3. Wait until its pods are guarded; this says what is left then.

        kubectl rollcall enroll solr -n prod
`
)

func TestLeft(t *testing.T) {
	pod := func(name string, agent bool) corev1.Pod {
		yes := true
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", OwnerReferences: []metav1.OwnerReference{{UID: "uid-solr", Controller: &yes}}}}
		if agent {
			p.Spec.InitContainers = []corev1.Container{{Name: v1alpha1.AgentContainer}}
		}
		return p
	}
	earlier := func(s *appsv1.StatefulSet) {
		s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: FieldManager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:updateStrategy":{"f:rollingUpdate":{"f:partition":{}}}}}`)}}
	}
	charted := func(s *appsv1.StatefulSet) {
		earlier(s)
		s.ManagedFields = append(s.ManagedFields, metav1.ManagedFieldsEntry{Manager: "helm", FieldsV1: s.ManagedFields[0].FieldsV1})
	}
	last := func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} }
	official := func(s *appsv1.StatefulSet) {
		metav1.SetMetaDataLabel(&s.ObjectMeta, "helm.sh/chart", "opensearch-3.6.0")
		s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "discovery.seed_hosts", Value: "managers-headless"}}
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}}
	}
	claims := func(s *appsv1.StatefulSet) {
		s.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"helm.sh/chart": "opensearch-3.6.0"}
	}
	other := pod("zk-0", false)
	other.OwnerReferences[0].UID = "uid-zk"
	for name, c := range map[string]struct {
		sets []*appsv1.StatefulSet
		o    Options
		pods []corev1.Pod
		want string
	}{
		"MySQL":                    {[]*appsv1.StatefulSet{set("mysql", "mysql", last, partitioned(0), switchable)}, options("mysql"), nil, adoptMySQL},
		"named by the chart since": {[]*appsv1.StatefulSet{set("mysql", "mysql", last, partitioned(0), charted, switchable)}, options("mysql"), nil, adoptMySQL},
		"OpenSearch": {
			[]*appsv1.StatefulSet{set("data", "opensearch", partitioned(-1), official), set("managers", "opensearch", partitioned(0), official)},
			Options{Namespace: "prod", Sets: []string{"data", "managers"}, Name: "logs"}, nil, adoptOpenSearch,
		},
		"patched in an earlier run": {
			[]*appsv1.StatefulSet{set("data", "opensearch", partitioned(0), earlier, labelled("logs"), official), set("managers", "opensearch", partitioned(0), official)}, options("data", "managers"), nil, adoptOpenSearch,
		},
		"the values land in the claims, too": {[]*appsv1.StatefulSet{set("data", "opensearch", official, claims)}, options("data"), nil, strings.NewReplacer("order:\n", "order:\n"+byPatch, " 1. Let", " 2. Let", " 2. Follow", " 3. Follow", "solr", "data").Replace(approveOnly)},
		"the label is in the template":       {[]*appsv1.StatefulSet{set("solr", "solr", inTemplate("solr"))}, options("solr"), []corev1.Pod{pod("solr-0", true), pod("solr-1", false)}, approveOnly},
		"pods cannot be seen":                {[]*appsv1.StatefulSet{set("solr", "solr", inTemplate("solr"))}, options("solr"), []corev1.Pod{other}, approveOnly},
		"all have agents":                    {[]*appsv1.StatefulSet{set("solr", "solr", inTemplate("solr"))}, options("solr"), []corev1.Pod{pod("solr-0", true), pod("solr-1", true), other}, nothing},
		"a name that YAML takes for a truth": {[]*appsv1.StatefulSet{set("on", "solr", inTemplate("on"))}, options("on"), nil, strings.ReplaceAll(approveOnly, "solr", "on")},
		"FoundationDB": {[]*appsv1.StatefulSet{set("solr", "solr", inTemplate("solr"))}, Options{Namespace: "prod", Sets: []string{"solr"}, Engine: model.FoundationDB}, nil, strings.Replace(approveOnly,
			"Let Rollcall restart each pod once, one at a time, for its agent.", "Let Rollcall restart each pod once for its agent. One pod at a time with policy.unit: Pod and\n    policy.maxUnavailable: 1, else as many as the policy lets go:\n    deploy/docs/foundationdb.md#the-first-rollout", 1)},
		"to observe": {[]*appsv1.StatefulSet{set("solr", "solr")}, Options{Namespace: "prod", Sets: []string{"solr"}, Observe: true}, nil, observe},
		"to observe RollingUpdate": {[]*appsv1.StatefulSet{set("solr", "solr", partitioned(0))}, Options{Namespace: "prod", Sets: []string{"solr"}, Observe: true}, nil, strings.Replace(observe,
			"would do.", "would do. Nothing is guarded in this mode: keep the label out of the\n    pod template, or Kubernetes rolls that change by itself.", 1)},
	} {
		p, err := Decide(facts(c.sets...), c.o)
		require.NoError(t, err, name)
		require.Equal(t, c.want, p.Left("kubectl rollcall", c.pods), name)
		require.NotContains(t, p.Left("rollcall", nil), "cluster: on\n")
		require.NotEqual(t, model.Engine(""), p.Cluster.Spec.Engine)
	}
}
