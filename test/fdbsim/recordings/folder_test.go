package recordings

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	folderVariable   = "ROLLCALL_FDB_RECORDINGS"
	requiredVariable = "ROLLCALL_FDB_RECORDINGS_REQUIRED"
	besideRepository = "../../../../shared/foundationdb"
)

// folder is where the recordings are. A test that has none is skipped, or fails when somebody wants them.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := find(os.Getenv(folderVariable))
	if err == nil {
		return dir
	}
	message := fmt.Sprintf("NOT HELD AGAINST A REAL FOUNDATIONDB: %v; want the recordings in %s, or beside the repository in ../shared/foundationdb", err, folderVariable)
	if os.Getenv(requiredVariable) == "1" {
		require.FailNow(t, message)
	}
	fmt.Fprintln(os.Stderr, message)
	t.Skip(message)
	return ""
}

func find(named string) (string, error) {
	if named == "" {
		named = besideRepository
	}
	_, err := os.Stat(filepath.Join(named, "texts.txt"))
	return named, err
}

func TestRecordingsAreFound(t *testing.T) {
	dir := t.TempDir()
	_, err := find(dir)
	require.ErrorContains(t, err, "texts.txt")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "texts.txt"), nil, 0o600))
	found, err := find(dir)
	require.NoError(t, err)
	require.Equal(t, dir, found)
}
