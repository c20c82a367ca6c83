package database

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCharts checks that values are named only where it is certain whose chart it is.
func TestCharts(t *testing.T) {
	const bitnami = `{containers: [{name: db, env: [{name: BITNAMI_DEBUG, value: "false"}]}]}`
	for _, tt := range []struct {
		spec, label, component string
		want                   Chart
	}{
		{bitnami, "mysql-14.0.5", "secondary", Chart{"mysql-14.0.5", "secondary.configuration", "secondary.extraFlags", "secondary.podLabels", "secondary.podAnnotations", "secondary.pdb.create"}},
		{bitnami, "mariadb-23.0.1", "primary", Chart{"mariadb-23.0.1", "primary.configuration", "primary.extraFlags", "primary.podLabels", "primary.podAnnotations", "primary.pdb.create"}},
		{bitnami, "mariadb-galera-16.0.2", "", Chart{"mariadb-galera-16.0.2", "mariadbConfiguration", "extraFlags", "podLabels", "podAnnotations", "pdb.create"}},
		{`{containers: [{name: db}], volumes: [{name: galera-config-rw, emptyDir: {}}]}`, "mariadb-0.16.11", "", Chart{Name: "mariadb-0.16.11", Configuration: "config.customConfiguration", PodLabels: "podLabels", PodAnnotations: "podAnnotations"}},
		{`{containers: [{name: db}]}`, "mariadb-23.0.1", "primary", Chart{Name: "mariadb-23.0.1"}},
		{bitnami, "postgresql-16.0.0", "primary", Chart{Name: "postgresql-16.0.0"}},
		{bitnami, "", "primary", Chart{}},
	} {
		set := pod(t, tt.spec)
		set.Labels = map[string]string{"helm.sh/chart": tt.label}
		set.Spec.Template.ObjectMeta = metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/component": tt.component}}
		require.Equal(t, tt.want, ChartOf(set), tt.label)
	}
}
