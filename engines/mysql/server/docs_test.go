package server

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestGuideMovesTheRoleAsAgentsDo checks that the statements for people are those of the agents.
func TestGuideMovesTheRoleAsAgentsDo(t *testing.T) {
	guide, err := os.ReadFile("../../../deploy/docs/mysql.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(guide), "\n### Move the role by hand\n")
	require.True(t, ok)
	for flavor, mark := range map[replication.Flavor]string{replication.MySQL: "On MySQL:", replication.MariaDB: "On MariaDB:"} {
		_, rest, ok := strings.Cut(section, mark+"\n\n```sql\n")
		require.True(t, ok, flavor)
		statements, _, _ := strings.Cut(rest, "\n```")
		d := dialects[flavor]
		again, _, err := (&Server{}).change(d, "db-2", 3306, false, true, false)
		require.NoError(t, err)
		verb, _, _ := strings.Cut(again, " TO ")
		for _, s := range []string{d.stop + ";", d.start + ";", d.forget + ";", "SET GLOBAL " + d.readOnly + " = ON;", "SET GLOBAL read_only = OFF;", verb + " TO "} {
			require.Contains(t, statements, s, flavor)
		}
		for _, option := range strings.Split(again[strings.LastIndexByte(again, '?')+1:], ", ")[1:] {
			require.Equal(t, 2, strings.Count(statements, option), "%s: %s", flavor, option)
		}
	}
	require.Contains(t, section, "MASTER_DEMOTE_TO_SLAVE = 1")
}
