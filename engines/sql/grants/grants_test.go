package grants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestLeastPrivilege checks that each topology is granted what it needs and no other's.
func TestLeastPrivilege(t *testing.T) {
	require.Equal(t, "GRANT REPLICATION CLIENT, REPLICATION SLAVE, PROCESS ON *.* TO rollcall@'127.0.0.1'; GRANT SELECT ON performance_schema.* TO rollcall@'127.0.0.1';",
		Statements("MySQL", engines.SingleServer.String()))
	require.Equal(t, "GRANT SLAVE MONITOR, BINLOG MONITOR, REPLICATION MASTER ADMIN, PROCESS, READ_ONLY ADMIN, REPLICATION SLAVE ADMIN, CONNECTION ADMIN, RELOAD ON *.* TO rollcall@'127.0.0.1';",
		Statements("MariaDB", engines.Switchable.String()))
	require.Equal(t, Statements("MariaDB", engines.Switchable.String()), Statements("MariaDB", engines.TopologyUnknown.String()))
	require.Contains(t, Statements("MySQL", engines.GroupReplication.String()), "PROCESS, GROUP_REPLICATION_ADMIN ON *.*")
	require.NotContains(t, Statements("MySQL", engines.GroupReplication.String()), "RELOAD")
	require.NotContains(t, Statements("MySQL", engines.FixedPrimary.String()), "ADMIN")
	require.Equal(t, "GRANT PROCESS ON *.* TO rollcall@'127.0.0.1'; GRANT SELECT ON mysql.wsrep_cluster_members TO rollcall@'127.0.0.1';", Statements("Galera", engines.Galera.String()))
	require.Empty(t, Statements("Solr", engines.Switchable.String()))
}

// TestDocumentedGrants checks that the documents have each of them in these words.
func TestDocumentedGrants(t *testing.T) {
	pages := map[string]string{}
	for _, page := range []string{"mysql.md", "galera.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "docs", page))
		require.NoError(t, err)
		pages[page] = strings.Join(strings.Fields(string(text)), " ")
	}
	for _, engine := range []string{"MySQL", "MariaDB"} {
		for _, topology := range []engines.Topology{engines.Switchable, engines.FixedPrimary, engines.SingleServer, engines.GroupReplication} {
			if engine == "MariaDB" && topology == engines.GroupReplication {
				continue
			}
			require.Contains(t, pages["mysql.md"], Statements(engine, topology.String()), "%s %s", engine, topology)
		}
		require.Contains(t, pages["mysql.md"], "| "+strings.Join(Repairs(engine), ", ")+" |", engine)
	}
	require.Contains(t, pages["galera.md"], Statements("Galera", engines.Galera.String()))
}
