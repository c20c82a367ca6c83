package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tableWith gives a table over a fake /proc, with one entry, and records what it signals.
func tableWith(t *testing.T, f fakeProc, e Entry) (*Table, *[]syscall.Signal) {
	var sent []syscall.Signal
	tab := &Table{
		file: filepath.Join(t.TempDir(), "processes.json"), proc: Proc{Root: f.root},
		entries: map[string]Entry{e.Name: e},
	}
	tab.signal = func(pid int, sig syscall.Signal) error {
		sent = append(sent, sig)
		if sig == syscall.SIGKILL {
			f.end(pid)
		}
		return nil
	}
	return tab, &sent
}

func TestStopSparesTheNextOwnerOfAPID(t *testing.T) {
	for name, world := range map[string]func(fakeProc){
		"started later":  func(f fakeProc) { f.process(10, "S", 2000, "") },
		"gone":           func(fakeProc) {},
		"zombie":         func(f fakeProc) { f.process(10, "Z", 1000, "") },
		"of a next boot": func(f fakeProc) { f.process(10, "S", 1000, ""); f.write("sys/kernel/random/boot_id", "second\n") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeProc(t, "first")
			world(f)
			tab, sent := tableWith(t, f, Entry{Name: "etcd", PID: 10, Start: 1000, Boot: "first"})
			_, alive := tab.Alive("etcd")
			require.False(t, alive)
			require.NoError(t, tab.Stop(t.Context(), "etcd", time.Second))
			require.Empty(t, *sent)
			require.Empty(t, tab.Names())
		})
	}
}

func TestStopSparesAPIDThatIsReusedWhileWaiting(t *testing.T) {
	f := newFakeProc(t, "b")
	f.process(10, "S", 1000, "")
	tab, sent := tableWith(t, f, Entry{Name: "etcd", PID: 10, Start: 1000, Boot: "b"})
	record := tab.signal
	tab.signal = func(pid int, sig syscall.Signal) error {
		err := record(pid, sig)
		f.process(10, "S", 1500, "") // it has ended, and the number is somebody else's
		return err
	}
	require.NoError(t, tab.Stop(t.Context(), "etcd", time.Minute))
	require.Equal(t, []syscall.Signal{syscall.SIGTERM}, *sent)
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	f := newFakeProc(t, "b")
	f.process(10, "S", 1000, "")
	tab, sent := tableWith(t, f, Entry{Name: "etcd", PID: 10, Start: 1000, Boot: "b"})
	require.NoError(t, tab.Stop(t.Context(), "etcd", 50*time.Millisecond))
	require.Equal(t, []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, *sent)
}

func TestKillMarkedEndsOnlyWhatMatches(t *testing.T) {
	f := newFakeProc(t, "b")
	tab, _ := tableWith(t, f, Entry{})
	var killed []int
	tab.signal = func(pid int, _ syscall.Signal) error { killed = append(killed, pid); f.end(pid); return nil }
	f.process(10, "S", 1, MarkVariable+"="+tab.file+"\x00"+tab.OwnedBy("node1/containerd"))
	f.process(11, "S", 1, MarkVariable+"="+tab.file+"\x00"+tab.OwnedBy("node10/containerd"))
	f.process(12, "S", 1, MarkVariable+"=/another\x00")
	shim := tab.OwnedBy("node1/containerd")
	require.NoError(t, tab.KillMarked(t.Context(), func(_, env string) bool {
		return len(env) >= len(shim) && env[len(env)-len(shim):] == shim
	}))
	require.Equal(t, []int{10}, killed)
}

// sleeper is a real process that a table can start.
func sleeper(t *testing.T, dir string) Spec {
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	sleep, err = filepath.EvalSymlinks(sleep)
	require.NoError(t, err)
	input := filepath.Join(dir, "input")
	require.NoError(t, os.WriteFile(input, []byte("1"), 0o644))
	return Spec{Name: "sleeper", Argv: []string{sleep, "600"}, Log: filepath.Join(dir, "log"), Inputs: []string{input}}
}

func TestEnsureStartsOnceAndAnewAfterAChange(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "processes.json")
	tab, err := Open(file)
	require.NoError(t, err)
	s := sleeper(t, dir)
	t.Cleanup(func() { require.NoError(t, tab.Stop(context.Background(), s.Name, time.Second)) })

	ensure := func() (int, bool) {
		// As another run of the program would: only the file is known.
		tab, err = Open(file)
		require.NoError(t, err)
		started, err := tab.Ensure(t.Context(), s)
		require.NoError(t, err)
		pid, alive := tab.Alive(s.Name)
		require.True(t, alive)
		return pid, started
	}
	first, started := ensure()
	require.True(t, started)
	again, started := ensure()
	require.False(t, started)
	require.Equal(t, first, again)

	require.NoError(t, os.WriteFile(s.Inputs[0], []byte("2"), 0o644))
	second, started := ensure()
	require.True(t, started)
	require.NotEqual(t, first, second)

	require.NoError(t, syscall.Kill(second, syscall.SIGKILL))
	require.Eventually(t, func() bool { _, alive := tab.Alive(s.Name); return !alive }, time.Minute, 10*time.Millisecond)
	third, started := ensure()
	require.True(t, started)
	require.NotEqual(t, second, third)
}

func TestEnsureWaitsForOneThatIsAboutToEnd(t *testing.T) {
	dir := t.TempDir()
	s := sleeper(t, dir)
	s.Argv[1] = "0"
	print, err := s.fingerprint()
	require.NoError(t, err)
	f := newFakeProc(t, "b")
	f.write("10/stat", "10 (a) Z 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 3 0 777 0 0")
	tab, sent := tableWith(t, f, Entry{Name: s.Name, PID: 10, Start: 777, Boot: "b", Fingerprint: print})
	record := tab.signal
	tab.signal = func(pid int, sig syscall.Signal) error {
		f.end(pid)
		return record(pid, sig)
	}
	_, err = tab.Ensure(t.Context(), s)
	require.ErrorContains(t, err, "it ended at once", "it was started, and the made-up /proc does not know it")
	require.Equal(t, []syscall.Signal{syscall.SIGTERM}, *sent)
}

func TestEnsureEndsAProcessThatWasNeverRecorded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "processes.json")
	tab, err := Open(file)
	require.NoError(t, err)
	s := sleeper(t, dir)
	_, err = tab.Ensure(t.Context(), s)
	require.NoError(t, err)
	lost, _ := tab.Alive(s.Name)
	require.Eventually(t, func() bool { // until it is no longer a copy of this test
		return Proc{Root: "/proc"}.Executable(lost) == s.Argv[0]
	}, time.Minute, time.Millisecond)

	require.NoError(t, os.Remove(file))
	tab, err = Open(file)
	require.NoError(t, err)
	_, err = tab.Ensure(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tab.Stop(context.Background(), s.Name, time.Second)) })
	_, ok := Proc{Root: "/proc"}.StartTime(lost)
	require.False(t, ok, "process %s of the lost table still runs", strconv.Itoa(lost))
}

func TestOpenSaysWhichFileIsBroken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "processes.json")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o644))
	_, err := Open(file)
	require.ErrorContains(t, err, file)
}
