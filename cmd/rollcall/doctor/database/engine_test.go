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
		"percona/percona-xtradb-cluster:8.0":                             "Galera",
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
