package mysqltest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mountDisk puts a small file system in memory at the folder until the test ends.
// Where that is not permitted it skips the test.
func (f flavor) mountDisk(t testing.TB, dir string, megabytes int) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o755))
	err := syscall.Mount("rollcall", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%dm,mode=0755", megabytes))
	if err == nil {
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
		return
	}
	missing := fmt.Sprintf("no disk of %s can be filled: mounting a file system in memory at %s takes root: %v", f.name, dir, err)
	if f.required(os.Getenv(EnvRequire)) {
		t.Fatal(missing + " (" + EnvRequire + " asks for it)")
	}
	t.Skip(missing)
}

// FillDisk leaves nothing free on the server's disk until the function is called.
func (s *Server) FillDisk() (free func()) {
	s.t.Helper()
	path := filepath.Join(s.Settings["datadir"], filler)
	file, err := os.Create(path)
	require.NoError(s.t, err)
	defer file.Close()
	end := int64(0)
	for step := int64(64 << 20); step >= 4<<10; {
		err := syscall.Fallocate(int(file.Fd()), 0, end, step)
		switch {
		case err == nil:
			end += step
		case errors.Is(err, syscall.ENOSPC):
			step /= 2
		case !errors.Is(err, syscall.EINTR):
			require.NoError(s.t, err, path)
		}
	}
	return func() {
		s.t.Helper()
		require.NoError(s.t, os.Remove(path))
	}
}

// filler is not a name of a database to either flavor.
const filler = "#filler"
