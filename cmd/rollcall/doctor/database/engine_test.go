package database

import (
	"testing"

	"github.com/stretchr/testify/require"
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
		"mariadb/server/mysql:8":                                         "MySQL",
		"quay.io/solr-platform/zookeeper:3.9":                            "",
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

// TestTheContainerOfTheDatabase checks which one it is, wherever it stands.
func TestTheContainerOfTheDatabase(t *testing.T) {
	for spec, want := range map[string]string{
		`containers: [{name: proxy, image: "envoyproxy/envoy:1"}, {name: db, image: "mysql:9"}]`:                                                                                      "db",
		`containers: [{name: metrics, image: "prom/mysqld-exporter:1", ports: [{containerPort: 9104}]}, {name: db, image: "ours:1", ports: [{containerPort: 3306}]}]`:                 "db",
		`containers: [{name: db, image: "ours:1", ports: [{containerPort: 3306}]}, {name: dump, image: "mysql:9"}]`:                                                                   "db",
		`containers: [{name: front, image: "proxysql/proxysql:2", ports: [{containerPort: 3306}]}, {name: db, image: "mysql:9"}]`:                                                     "db",
		`containers: [{name: first, image: "ours:1"}, {name: second, image: "ours:2"}]`:                                                                                               "first",
		`containers: [{name: log, image: "busybox", ports: [{containerPort: 80}]}, {name: db, image: "mariadb:11", ports: [{containerPort: 3306}]}, {name: other, image: "mysql:9"}]`: "db",
	} {
		require.Equal(t, want, Container(&pod(t, spec).Spec.Template).Name, spec)
	}
	require.Nil(t, Container(&pod(t, "containers: []").Spec.Template))
}
