package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestDialectByVersion checks which words a server is spoken to in. A version that nobody has seen
// yet is spoken to like the newest.
func TestDialectByVersion(t *testing.T) {
	for version, start := range map[string]string{
		"8.0.15": "START SLAVE", "8.0.22": "START SLAVE", "8.0.23": "START REPLICA", "8.0.36-28.1-log": "START REPLICA",
		"8.4.3": "START REPLICA", "9.7.4": "START REPLICA", "99.0.0": "START REPLICA",
		"10.11.19-MariaDB": "START REPLICA", "11.8.9-MariaDB": "START REPLICA", "99.1.1-MariaDB": "START REPLICA",
	} {
		v, err := replication.ParseVersion(version)
		require.NoError(t, err)
		require.Equal(t, start, dialectOf(v).start, version)
		require.Equal(t, v.Flavor, dialectOf(v).flavor, version)
	}
}

// TestOldWordsOnly checks that nothing is said to an old server that it does not know.
func TestOldWordsOnly(t *testing.T) {
	d := oldMySQL
	said := fmt.Sprint(d.source, d.replicas, d.running, d.open, d.clients, d.stop, d.start, d.forget, d.restartIO, d.change)
	for _, word := range []string{"REPLICA", "SOURCE", "performance_schema.processlist"} {
		require.NotContains(t, said, word)
	}
	require.Equal(t, sourceChange{
		statement: "CHANGE MASTER TO ", prefix: "MASTER_", tls: "MASTER_SSL = 1", always: "GET_MASTER_PUBLIC_KEY = 1",
		last: "MASTER_AUTO_POSITION = 1, MASTER_RETRY_COUNT = 0",
	}, d.change)
}
