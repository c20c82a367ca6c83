package database

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCharts checks that values are named only where it is certain whose chart it is.
func TestCharts(t *testing.T) {
	const (
		bitnami  = `{containers: [{name: db, env: [{name: BITNAMI_DEBUG, value: "false"}]}]}`
		official = `{containers: [{name: search, image: "opensearch:3", env: [{name: discovery.seed_hosts, value: a}]}]}`
	)
	made := func(name, key string) Chart {
		return Chart{Name: name, Configuration: key + "configuration", Flags: key + "extraFlags", PodLabels: key + "podLabels", PodAnnotations: key + "podAnnotations",
			Secret: "auth.existingSecret", Partition: key + "updateStrategy.rollingUpdate.partition", Management: key + "podManagementPolicy", Budget: key + "pdb.create: false"}
	}
	without := func(c Chart, secret string) Chart { c.Configuration, c.Flags, c.Secret = "", "", secret; return c }
	for _, tt := range []struct {
		spec, label, component string
		want                   Chart
	}{
		{bitnami, "mysql-14.0.5", "secondary", made("mysql-14.0.5", "secondary.")},
		{bitnami, "mariadb-23.0.1", "primary", made("mariadb-23.0.1", "primary.")},
		{bitnami, "mariadb-galera-16.0.2", "", Chart{Name: "mariadb-galera-16.0.2", Configuration: "mariadbConfiguration", Flags: "extraFlags", PodLabels: "podLabels", PodAnnotations: "podAnnotations", Secret: "existingSecret",
			OnDelete: "updateStrategy.type: OnDelete", Management: "podManagementPolicy", Budget: "pdb.create: false"}},
		{bitnami, "solr-9.6.11", "solr", without(made("solr-9.6.11", ""), "auth.existingSecret")},
		{bitnami, "zookeeper-13.8.8", "zookeeper", without(made("zookeeper-13.8.8", ""), "")},
		{bitnami, "opensearch-2.3.0", "master", without(made("opensearch-2.3.0", "master."), "security.existingSecret")},
		{bitnami, "opensearch-2.3.0", "coordinating-only", without(made("opensearch-2.3.0", "coordinating."), "security.existingSecret")},
		{bitnami, "opensearch-2.3.0", "other", Chart{Name: "opensearch-2.3.0"}},
		{official, "opensearch-3.6.0", "logs-data", Chart{Name: "opensearch-3.6.0", PodLabels: "labels", PodAnnotations: "podAnnotations", OnDelete: "updateStrategy: OnDelete", Grace: "terminationGracePeriod", Management: "podManagementPolicy", Budget: "maxUnavailable: null"}},
		{`{containers: [{name: db}], volumes: [{name: galera-config-rw, emptyDir: {}}]}`, "mariadb-0.16.11", "", Chart{Name: "mariadb-0.16.11", Configuration: "config.customConfiguration", PodLabels: "podLabels", PodAnnotations: "podAnnotations"}},
		{`{containers: [{name: db}]}`, "mariadb-23.0.1", "primary", Chart{Name: "mariadb-23.0.1"}},
		{`{containers: [{name: search, image: "opensearch:3"}]}`, "opensearch-3.6.0", "", Chart{Name: "opensearch-3.6.0"}},
		{`{containers: [{name: solr, image: "solr:9"}]}`, "solr-1.5.2", "", Chart{Name: "solr-1.5.2"}},
		{bitnami, "postgresql-16.0.0", "primary", Chart{Name: "postgresql-16.0.0"}},
		{bitnami, "", "primary", Chart{}},
	} {
		set := pod(t, tt.spec)
		set.Labels = map[string]string{"helm.sh/chart": tt.label}
		set.Spec.Template.ObjectMeta = metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/component": tt.component}}
		require.Equal(t, tt.want, ChartOf(set), tt.label)
		require.Equal(t, tt.want.PodLabels != "", tt.want.Known())
	}
	at, of := Chart{Name: "a-1.0"}.Value("", "spec.x")
	require.Equal(t, "spec.x", at+of)
	at, of = Chart{Name: "a-1.0"}.Value("x", "spec.x")
	require.Equal(t, "x in the values of chart a-1.0", at+of)
}
