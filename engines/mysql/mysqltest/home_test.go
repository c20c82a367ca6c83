package mysqltest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsMissingIsNamed(t *testing.T) {
	f := flavors[MariaDB]
	_, missing := f.find("")
	require.Contains(t, missing, EnvMariaDBHome+" is not set: no real MariaDB")
	home := t.TempDir()
	_, missing = f.find(home)
	require.Contains(t, missing, "mariadbd: no such file")
	require.NoError(t, os.Mkdir(filepath.Join(home, "bin"), 0o755))
	for _, program := range f.programs {
		require.NoError(t, os.WriteFile(filepath.Join(home, "bin", program), nil, 0o755))
	}
	got, missing := f.find(home)
	require.Empty(t, missing)
	require.Equal(t, home, got)
}

func TestRequired(t *testing.T) {
	require.True(t, flavors[MySQL].required("solr,mysql"))
	require.True(t, flavors[MariaDB].required("mariadb"))
	require.False(t, flavors[MySQL].required("mariadb, mysqlx"))
	require.False(t, flavors[MariaDB].required(""))
}

func TestAccountsHavePasswords(t *testing.T) {
	for _, flavor := range Flavors {
		require.Contains(t, Accounts(flavor), "'$AGENT_PASSWORD'")
		sql := passwords(Accounts(flavor))
		require.NotContains(t, sql, "$")
		for _, want := range []string{"'" + AgentPassword + "'", "'" + ReplicaPassword + "'", "'" + AppPassword + "'"} {
			require.Contains(t, sql, want)
		}
	}
}
