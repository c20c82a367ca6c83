package workload

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Neither who publishes an image nor what stands beside a database says what it is.
func TestHelpersAreNoDatabases(t *testing.T) {
	for image, want := range map[string]string{
		"prom/mysqld-exporter:v0.15":                                     "",
		"opensearchproject/opensearch-dashboards:3":                      "",
		"opensearchproject/data-prepper:2":                               "",
		"opensearchproject/logstash-oss-with-opensearch-output-plugin:8": "",
		"apache/solr-operator:v0.9":                                      "",
		"mariadb/maxscale:24":                                            "",
		"ghcr.io/mariadb-operator/mariadb-operator:1":                    "",
		"registry/mysql-team/redis:7":                                    "",
		"registry.example.com/mysql-team/redis:7":                        "",
		"mysql/mysql-router:8":                                           "",
		"ghcr.io/example/mysql-agent:1":                                  "",
		"mariadb/server/mysql:8":                                         "MySQL",
		"quay.io/solr-platform/zookeeper:3.9":                            "ZooKeeper",
		"bitnami/mysql:9":                                                "MySQL",
		"bitnami/mariadb-galera:12.0":                                    "Galera",
		"percona/percona-xtradb-cluster:8.0":                             "",
		"percona/percona-server:8.4":                                     "",
		"team-mysql/mariadb:11":                                          "MariaDB",
		"docker.io/opensearchproject/opensearch@sha256:aa":               "OpenSearch",
	} {
		var got string
		if n := NamedIn(image); len(n) == 1 {
			got = string(n[0])
		}
		require.Equal(t, want, got, image)
	}
}

// TestTheContainerOfTheDatabase checks which one it is, wherever it stands, and whether that is sure.
func TestTheContainerOfTheDatabase(t *testing.T) {
	for spec, want := range map[string]struct {
		name string
		sure bool
	}{
		`containers: [{name: proxy, image: "envoyproxy/envoy:1"}, {name: db, image: "mysql:9"}]`:                                                                                      {"db", true},
		`containers: [{name: metrics, image: "prom/mysqld-exporter:1", ports: [{containerPort: 9104}]}, {name: db, image: "ours:1", ports: [{containerPort: 3306}]}]`:                 {"db", true},
		`containers: [{name: db, image: "ours:1", ports: [{containerPort: 3306}]}, {name: dump, image: "mysql:9"}]`:                                                                   {"db", true},
		`containers: [{name: front, image: "proxysql/proxysql:2", ports: [{containerPort: 3306}]}, {name: db, image: "mysql:9"}]`:                                                     {"db", true},
		`containers: [{name: log, image: "busybox", ports: [{containerPort: 80}]}, {name: db, image: "mariadb:11", ports: [{containerPort: 3306}]}, {name: other, image: "mysql:9"}]`: {"db", true},
		`containers: [{name: istio-proxy, image: "istio/proxyv2:1.24"}, {name: db, image: "ours:1"}]`:                                                                                 {"db", true},
		`containers: [{name: istio-proxy, image: "auto"}, {name: db, image: "ours:1"}]`:                                                                                               {"db", true},
		`containers: [{name: linkerd-proxy, image: "registry.example/linkerd/proxy:edge"}, {name: db, image: "ours:1"}]`:                                                              {"db", true},
		`containers: [{name: tls, image: "nginx:1", ports: [{containerPort: 9200}]}, {name: search, image: "opensearch:3"}]`:                                                          {"search", true},
		`containers: [{name: rollcall-agent, image: "ours:1"}, {name: db, image: "ours:2"}]`:                                                                                          {"db", true},
		`containers: [{name: metrics, image: "solr:9", ports: [{containerPort: 9854}]}, {name: db, image: "solr:9"}]`:                                                                 {"db", true},
		`containers: [{name: solr-exporter, image: "solr:9"}, {name: db, image: "solr:9"}, {name: log-sidecar, image: "solr:9"}]`:                                                     {"db", true},
		`containers: [{name: metrics, image: "solr:9"}, {name: nginx, image: "nginx:1"}]`:                                                                                             {"metrics", true},
		`containers: [{name: first, image: "mysql:9"}, {name: second, image: "mysql:9"}]`:                                                                                             {"first", false},
		`containers: [{name: alone, image: "nginx:1"}]`:                                                                                                                               {"alone", true},
		`containers: [{name: first, image: "ours:1"}, {name: second, image: "ours:2"}]`:                                                                                               {"first", false},
		`containers: [{name: a, image: "nginx:1"}, {name: b, image: "envoy:1"}]`:                                                                                                      {"a", false},
	} {
		c, sure := Container(nil, pod(t, spec))
		require.Equal(t, want.name, c.Name, spec)
		require.Equal(t, want.sure, sure, spec)
	}
	c, sure := Container(nil, pod(t, "containers: []"))
	require.Nil(t, c)
	require.False(t, sure)
	c, sure = Container(map[string]string{v1alpha1.AnnotationContainer: "b"}, pod(t, `containers: [{name: a, image: "mysql:9"}, {name: b, image: "ours:1"}]`))
	require.Equal(t, "b", c.Name)
	require.True(t, sure)
}

// TestPortsContradictImages checks what an image runs whose ports are those of another database.
func TestPortsContradictImages(t *testing.T) {
	for container, want := range map[string]model.Engine{
		`{name: db, image: "solr:9"}`:                                                               model.Solr,
		`{name: db, image: "solr:9", ports: [{containerPort: 8080}]}`:                               model.Solr,
		`{name: db, image: "solr:9", ports: [{containerPort: 8983}, {containerPort: 2181}]}`:        model.Solr,
		`{name: db, image: "solr:9", ports: [{containerPort: 2181}]}`:                               model.ZooKeeper,
		`{name: db, image: "solr:9", ports: [{containerPort: 9200}]}`:                               "",
		`{name: db, image: "mysql:9", ports: [{containerPort: 2181}]}`:                              "",
		`{name: db, image: "mariadb:11", ports: [{containerPort: 4567}]}`:                           model.MariaDB,
		`{name: db, image: "opensearch:3", ports: [{containerPort: 9300}]}`:                         model.OpenSearch,
		`{name: db, image: "zookeeper:3.9", ports: [{containerPort: 2281}, {containerPort: 8080}]}`: model.ZooKeeper,
		`{name: db, image: "ours:1", ports: [{containerPort: 2181}]}`:                               "",
	} {
		require.Equal(t, want, EngineOf(&pod(t, "containers: ["+container+"]").Containers[0]), container)
	}
	engine, port := UsesPortOf(&pod(t, `containers: [{name: db, image: "solr:9", ports: [{containerPort: 80}, {containerPort: 9200}]}]`).Containers[0])
	require.Equal(t, model.OpenSearch, engine)
	require.EqualValues(t, 9200, port)
	engine, _ = UsesPortOf(&pod(t, `containers: [{name: db, image: "solr:9"}]`).Containers[0])
	require.Empty(t, engine)
}

func pod(t *testing.T, text string) *corev1.PodSpec {
	t.Helper()
	var spec corev1.PodSpec
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &spec))
	return &spec
}
