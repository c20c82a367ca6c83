package fdbreal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// EnvHome names the folder with fdbserver and fdbcli. Without it the tests are skipped; make test-foundationdb sets it.
const EnvHome = "ROLLCALL_FDB_HOME"

// home is the folder with the binaries.
func home(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(EnvHome)
	if dir == "" {
		t.Skipf("%s is not set: must be a folder with fdbserver and fdbcli, as in make test-foundationdb FDB=FOLDER", EnvHome)
	}
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	for _, name := range []string{"fdbserver", "fdbcli"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err, "%s=%s: must have %s", EnvHome, dir, name)
		require.NotZero(t, info.Mode()&0o111, "%s: must be executable", filepath.Join(dir, name))
	}
	return dir
}
