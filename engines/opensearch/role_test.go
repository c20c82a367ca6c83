package opensearch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoleIsInTheDocuments checks that users copy the role that TestRealSmallestRole has tried.
func TestRoleIsInTheDocuments(t *testing.T) {
	role := SmallestRole()
	for _, file := range []string{filepath.Join("..", "..", "deploy", "docs", "opensearch.md"), "DESIGN.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, permission := range role.permissions() {
			require.Contains(t, string(text), permission, file)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "docs", "opensearch.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), role.JSON())
	require.Contains(t, string(text), role.YAML())
}

func TestRoleIsWrittenTwice(t *testing.T) {
	var again Role
	require.NoError(t, json.Unmarshal([]byte(SmallestRole().JSON()), &again))
	require.Equal(t, SmallestRole(), again)
	yaml := SmallestRole().YAML()
	require.Equal(t, len(SmallestRole().permissions())+1, strings.Count(yaml, "- \""))
	require.True(t, strings.HasPrefix(yaml, RoleName+":\n  cluster_permissions:\n    - \"cluster:"), yaml)
	require.NotContains(t, (Role{Cluster: []string{"a"}}).YAML(), "index_permissions")
}
