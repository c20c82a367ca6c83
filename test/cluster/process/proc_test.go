package process

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeProc is a /proc of files.
type fakeProc struct {
	t    *testing.T
	root string
}

func newFakeProc(t *testing.T, boot string) fakeProc {
	f := fakeProc{t, t.TempDir()}
	f.write("sys/kernel/random/boot_id", boot+"\n")
	return f
}

func (f fakeProc) write(name, content string) {
	file := filepath.Join(f.root, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(f.t, os.WriteFile(file, []byte(content), 0o644))
}

// process adds a process with a hard command name.
func (f fakeProc) process(pid int, state string, start uint64, env string) {
	dir := strconv.Itoa(pid)
	f.write(dir+"/stat", dir+" (a) b (c)) "+state+" 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 "+strconv.FormatUint(start, 10)+" 0 0")
	f.write(dir+"/environ", env)
}

func (f fakeProc) end(pid int) {
	require.NoError(f.t, os.RemoveAll(filepath.Join(f.root, strconv.Itoa(pid))))
}

func TestStartTime(t *testing.T) {
	f := newFakeProc(t, "b")
	f.process(10, "S", 777, "")
	f.process(11, "Z", 777, "")
	f.write("12/stat", "nonsense")
	p := Proc{Root: f.root}

	ticks, ok := p.StartTime(10)
	require.True(t, ok)
	require.Equal(t, uint64(777), ticks)
	for _, pid := range []int{11, 12, 13} {
		_, ok = p.StartTime(pid)
		require.False(t, ok, "process %d", pid)
	}
}

func TestAProcessEndsWithItsLastThread(t *testing.T) {
	f := newFakeProc(t, "b")
	f.process(10, "S", 777, "")
	f.process(11, "Z", 777, "")
	f.write("12/stat", "12 (a) Z 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 3 0 777 0 0") // the first of three has ended
	p := Proc{Root: f.root}

	require.False(t, p.Ending(10))
	require.False(t, p.Ending(11))
	require.True(t, p.Ending(12))
	_, ok := p.StartTime(12)
	require.True(t, ok)
	require.False(t, p.Ending(13))
}

func TestOwnStartTimeIsRead(t *testing.T) {
	_, ok := Proc{Root: "/proc"}.StartTime(os.Getpid())
	require.True(t, ok)
}

func TestMarkedLooksForTheWholeVariable(t *testing.T) {
	f := newFakeProc(t, "b")
	f.process(10, "S", 1, "A=1\x00M=/x\x00B=2\x00")
	f.process(11, "S", 1, "M=/x/y\x00")
	f.process(12, "S", 1, "NOM=/x\x00")
	pids, err := Proc{Root: f.root}.Marked("M=/x")
	require.NoError(t, err)
	require.Equal(t, []int{10}, pids)
}
