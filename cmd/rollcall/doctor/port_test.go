package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// TestPortsThatAgentsDoNotKnow checks that servers on another port than agents connect to are found by
// the names of ports, and that nothing is said where the names say nothing.
func TestPortsThatAgentsDoNotKnow(t *testing.T) {
	for ports, want := range map[string]string{
		"[]":                                  "",
		"[{containerPort: 8984}]":             "",
		"[{name: http, containerPort: 8983}]": "",
		"[{name: metrics, containerPort: 80}, {name: http-admin, containerPort: 81}]":      "",
		"[{name: http, containerPort: 8080}, {name: solr-client, containerPort: 8983}]":    "",
		"[{name: metrics, containerPort: 9854}, {name: solr-client, containerPort: 8984}]": "warning port: container solr serves on port 8984 (solr-client), and agents connect to 8983: they would reach nobody, and nothing goes | rollcall enroll --port 8984, or spec.connection.port: 8984",
		"[{name: https, containerPort: 8443}]":                                             "warning port: container solr serves on port 8443 (https), and agents connect to 8983",
	} {
		manifest := strings.Replace(fine, "          image: solr:9.10\n", "          image: solr:9.10\n          ports: "+ports+"\n", 1)
		got := examine(t, manifest, nil)
		if want == "" {
			require.Empty(t, got, ports)
			continue
		}
		require.Len(t, got, 1, ports)
		require.Contains(t, got[0], want)
		told := strings.Replace(manifest, "engine: Solr", "engine: Solr, connection: {port: 8984}", 1)
		require.Equal(t, !strings.Contains(ports, "8984"), len(examine(t, told, nil)) == 1, "the DatabaseCluster says it")
	}
	keeper := keeper(t, "official", "name: client, containerPort: 2181", "name: client-tls, containerPort: 2281", ";2181", "")
	require.Contains(t, strings.Join(examine(t, keeper, nil), "\n"), "warning port: container server serves on port 2281 (client-tls), and agents connect to 2181")
	elsewhere := strings.Replace(fine, "          image: solr:9.10\n", "          image: solr:9.10\n          ports: [{name: http, containerPort: 8080}]\n", 1)
	require.Empty(t, examine(t, elsewhere, func(f *Facts) {
		f.Clusters = []v1alpha1.DatabaseCluster{*f.Clusters[0].DeepCopy()}
		f.Clusters[0].Spec.Connection.Host = "db.prod.svc"
	}), "agents connect to another host")
}
