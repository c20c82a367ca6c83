package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const hybrid = `25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw
31 25 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
33 31 0:29 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
34 31 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`

func TestTrees(t *testing.T) {
	trees, err := Trees(strings.NewReader(hybrid))
	require.NoError(t, err)
	require.Equal(t, []Tree{
		{"/sys/fs/cgroup/memory", false}, {"/sys/fs/cgroup/cpuset", false}, {"/sys/fs/cgroup/unified", true},
	}, trees)

	trees, err = Trees(strings.NewReader("30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"))
	require.NoError(t, err)
	require.Equal(t, []Tree{{"/sys/fs/cgroup", true}}, trees)
}

func write(t *testing.T, content string, elem ...string) {
	t.Helper()
	file := filepath.Join(elem...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	require.NoError(t, err)
	return string(b)
}

func TestMakeFillsTheCpuset(t *testing.T) {
	root := t.TempDir()
	write(t, "0-1\n", root, "cpuset.cpus")
	write(t, "0\n", root, "cpuset.mems")
	trees := []Tree{{Path: root}, {Path: t.TempDir(), Unified: true}}
	require.NoError(t, Make(trees, "node1"))
	require.Equal(t, "0-1\n", read(t, root, "node1", "cpuset.cpus"))
	require.Equal(t, "0\n", read(t, root, "node1", "cpuset.mems"))
	require.NoError(t, Make(trees, "node1"), "twice is fine")
}

func TestMakeHandsControllersOn(t *testing.T) {
	root := t.TempDir()
	write(t, "cpuset cpu memory pids\n", root, "cgroup.controllers")
	write(t, "memory\n", root, "node1", "cgroup.controllers")
	require.NoError(t, Make([]Tree{{Path: root, Unified: true}}, "node1"))
	require.Equal(t, "+pids", read(t, root, "cgroup.subtree_control"), "the last one written")
	require.Equal(t, "+memory", read(t, root, "node1", "cgroup.subtree_control"))
}

func TestProcessesAreFoundInAllTrees(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, "30\n", one, "n", "cgroup.procs")
	write(t, "10\n30\n", one, "n", "pods", "x", "cgroup.procs")
	write(t, "20\n", two, "n", "cgroup.procs")
	write(t, "99\n", two, "other", "cgroup.procs")
	pids, err := Processes([]Tree{{Path: one}, {Path: two}}, "n")
	require.NoError(t, err)
	require.Equal(t, []int{10, 20, 30}, pids)

	pids, err = Processes([]Tree{{Path: one}}, "absent")
	require.NoError(t, err)
	require.Empty(t, pids)
}

func TestRemoveTakesChildrenFirst(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "n", "a", "b"), 0o755))
	trees := []Tree{{Path: root}}
	require.NoError(t, Remove(trees, "n"))
	require.NoDirExists(t, filepath.Join(root, "n"))
	require.NoError(t, Remove(trees, "n"), "twice is fine")
}
