package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPodDomain(t *testing.T) {
	const head = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
	for hosts, want := range map[string]string{
		head + "10.1.2.3\tdb-0.db.ns.svc.cluster.local\tdb-0\n": ".db.ns.svc.cluster.local",
		head + "10.1.2.3\tdb-0.db.ns.svc.cluster.local.\tdb-0":  ".db.ns.svc.cluster.local",
		head + "10.1.2.3\tdb-0\n":                               "",
		head + "10.1.2.3\tdb-01.db.ns.svc\tdb-01\n":             "",
		head + "# 10.1.2.3\tdb-0.db.ns.svc\tdb-0\n":             "",
		head + "10.1.2.3 db-0 db-0.db.ns.svc # another\n":       ".db.ns.svc",
		"127.0.1.1 db-0.\n\n \n":                                "",
		"":                                                      "",
	} {
		require.Equal(t, want, domainIn(hosts, "db-0"), hosts)
	}
	require.Empty(t, domainIn("127.0.0.1 localhost localhost.localdomain\n", "localhost"))
}
