package fdbsimtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program is the path of fdbsim, built once for each test binary. The same sources give the same bytes, and so the same
// file in the user's cache for all of them.
var program = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "rollcall", "fdbsim")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	next, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(next)
	built := filepath.Join(next, "fdbsim")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", built,
		"github.com/rollcall-dev/rollcall/test/fdbsim/cmd/fdbsim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fdbsim is not built: %w: %s", err, out)
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	path := filepath.Join(dir, "fdbsim-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(path); err == nil {
		now := time.Now()
		return path, os.Chtimes(path, now, now)
	}
	forget(dir, time.Now().Add(-24*time.Hour))
	return path, os.Rename(built, path)
})

// forget removes programs that nobody has used since then. Those of other sources may
// be in use by tests of these.
func forget(dir string, since time.Time) {
	old, _ := filepath.Glob(filepath.Join(dir, "fdbsim-*"))
	for _, file := range old {
		if info, err := os.Stat(file); err == nil && info.ModTime().Before(since) {
			_ = os.Remove(file)
		}
	}
}

// Program gives the simulation's program under one of its names, in a folder of the version: fdbcli, fdbserver or fdbsim.
func Program(t testing.TB, name, version string) string {
	t.Helper()
	built, err := program()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), version)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, name)
	if os.Link(built, path) != nil { // another file system
		data, err := os.ReadFile(built)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, 0o755))
	}
	return path
}
