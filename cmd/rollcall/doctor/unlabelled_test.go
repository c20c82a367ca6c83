package doctor

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStatefulSetsWithoutTheLabel checks that databases that have no label are named beside those that
// have it, and that a pool that was forgotten is a warning.
func TestStatefulSetsWithoutTheLabel(t *testing.T) {
	ensemble, err := os.ReadFile("testdata/zookeeper/official.yaml")
	require.NoError(t, err)
	got := examine(t, fine+"---\n"+string(ensemble), nil)
	require.Equal(t, []string{"info label: it has no label rollcall.dev/cluster, and others have: it is not examined | rollcall doctor zk examines it"}, got)

	const nodes = "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: NAME, namespace: prod, labels: {LABEL}}\n" +
		"spec: {replicas: 2, podManagementPolicy: Parallel, updateStrategy: {type: OnDelete}, volumeClaimTemplates: [{metadata: {name: data}}], template: {metadata: {labels: {LABEL}}, " +
		"spec: {terminationGracePeriodSeconds: 300, topologySpreadConstraints: [{maxSkew: 1}], containers: [{name: solr, image: 'solr:9', env: [{name: ZK_HOST, value: JOINS}], readinessProbe: {httpGet: {path: /solr/admin/info/health, port: 8983}}}]}}}\n"
	made := func(name, label, joins string) string {
		return strings.NewReplacer("NAME", name, "LABEL", label, "JOINS", joins).Replace(nodes)
	}
	cluster := fine[:strings.Index(fine, "---")]
	got = examine(t, cluster+made("nrt", "rollcall.dev/cluster: search", "zk:2181")+made("pull", "", "zk:2181"), nil)
	require.Equal(t, []string{"warning label: it has no label rollcall.dev/cluster, and seems to be of one database with StatefulSet nrt, which has: Rollcall would know nothing of its pods, and they restart whatever those of search do | " +
		"give it the label rollcall.dev/cluster: search, unless it is a database of its own"}, got)
	got = examine(t, cluster+made("nrt", "rollcall.dev/cluster: search", "zk:2181")+made("pull", "", "other:2181"), nil)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "info label: ")
}
