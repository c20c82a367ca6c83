package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLockKeepsOthersOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "below", "lock")
	unlock, err := Lock(t.Context(), file)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	_, err = Lock(ctx, file)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, file)

	unlock()
	unlock, err = Lock(t.Context(), file)
	require.NoError(t, err)
	unlock()
}

func TestAbsent(t *testing.T) {
	look := func(program string) (string, error) {
		if program == "runc" {
			return "", errors.New("not found")
		}
		return "/bin/" + program, nil
	}
	require.Equal(t, []string{"runc"}, absent(ClusterTools, look))
}

func TestRequireNamesWhatItMayNotInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no apt-get either
	err := Require(t.Context(), []Tool{{"x", "pkg-x"}, {"y", "pkg-y"}}, nil)
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "pkg-x pkg-y")
}

func TestWriteFileLeavesAnEqualFileAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "f")
	require.NoError(t, WriteFile(file, []byte("a"), 0o600))
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(file, old, old))
	require.NoError(t, WriteFile(file, []byte("a"), 0o600))
	st, err := os.Stat(file)
	require.NoError(t, err)
	require.True(t, st.ModTime().Equal(old))
	require.NoError(t, WriteFile(file, []byte("b"), 0o600))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "b", string(b))
}

func TestRunKeepsTheLastLine(t *testing.T) {
	_, err := Run(t.Context(), "sh", "-c", "echo one; echo two >&2; exit 3")
	require.ErrorContains(t, err, "exit status 3: two")
}

func TestWatchHint(t *testing.T) {
	require.Empty(t, watchHint("8192", 3))
	require.Empty(t, watchHint("?", 3))
	require.Empty(t, watchHint("128", 3))
	require.Contains(t, watchHint("128", 20), "fs.inotify.max_user_instances=248")
}
