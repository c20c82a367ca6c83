package fdbsimtest_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/client"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

const version = "7.3.63"

// deployment is a cluster of real processes on loopback, as its pods would run.
type deployment struct {
	t         *testing.T
	dir       string
	world     string // address
	server    string // programs
	sim       string
	cli       string
	processes map[string]*exec.Cmd
}

func deploy(t *testing.T, processes int) *deployment {
	d := &deployment{
		t: t, dir: t.TempDir(), world: free(t), processes: map[string]*exec.Cmd{},
		server: fdbsimtest.Program(t, "fdbserver", version), sim: fdbsimtest.Program(t, "fdbsim", version), cli: fdbsimtest.Program(t, "fdbcli", version),
	}
	d.startWorld(processes)
	for n := range processes {
		d.start(n)
	}
	return d
}

// free is an address that nobody listens at.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (d *deployment) run(name, program string, args ...string) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "FDBSIM_WORLD="+d.world, "FDBSIM_VERSION="+version)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.OpenFile(filepath.Join(d.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(d.t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(d.t, cmd.Start())
	d.processes[name] = cmd
	d.t.Cleanup(func() { d.end(name, syscall.SIGKILL) })
}

func (d *deployment) end(name string, signal syscall.Signal) {
	if cmd := d.processes[name]; cmd != nil {
		delete(d.processes, name)
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
	}
}

func (d *deployment) startWorld(processes int) {
	d.run("world", d.sim, "world", "-listen", d.world, "-state", filepath.Join(d.dir, "world.json"), "-expect", fmt.Sprint(processes),
		"-scale", "20", "-silence", "1500ms", "-shard-bytes", "10000000")
}

func (d *deployment) data(n int) string { return filepath.Join(d.dir, fmt.Sprintf("data-%d", n)) }

func (d *deployment) file(n int) string {
	return filepath.Join(d.dir, fmt.Sprintf("fdb-%d.cluster", n))
}

func (d *deployment) address(n int) string {
	return fmt.Sprintf("127.250.%d.%d:4500", os.Getpid()%250, 10+n)
}

func name(n int) string { return fmt.Sprintf("fdb-%d", n) }

func (d *deployment) start(n int) {
	d.run(name(n), d.server, "-C", d.file(n), "-d", d.data(n), "-p", d.address(n),
		"--locality_instance_id="+name(n), fmt.Sprintf("--locality_zoneid=zone-%c", 'a'+n%3))
}

func (d *deployment) view() wire.View {
	var v wire.View
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	if err := wire.Post(ctx, wire.NewClient(), d.world, wire.PathControl, wire.Command{Op: wire.Look}, &v); err != nil {
		return wire.View{}
	}
	return v
}

func (d *deployment) eventually(what string, is func(wire.View) bool) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return is(d.view()) }, 2*time.Minute, 50*time.Millisecond, what)
}

func (d *deployment) exec(n int, command string) string {
	out, err := exec.Command(d.cli, "-C", d.file(n), "--exec", command, "--timeout", "60").CombinedOutput()
	require.NoError(d.t, err, "%s: %s", command, out)
	return string(out)
}

// The form in which it runs in pods: a world, and processes that come and go for real.
func TestProcessesComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("runs eight processes for half a minute")
	}
	d := deploy(t, 6)
	d.eventually("the database is made when all are there", func(v wire.View) bool { return v.Available && v.Processes == 6 })
	require.Eventually(t, func() bool {
		for n := range 6 {
			if _, err := wire.ReadClusterFile(d.file(n)); err != nil {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond, "each process writes its cluster file")
	require.Contains(t, d.exec(5, "status json"), `"available" : true`)
	c, err := client.New(client.Options{ClusterFile: d.file(0), Keys: 20, Patience: time.Minute})
	require.NoError(t, err)
	steps := func() {
		for range 40 {
			c.Step(t.Context())
		}
	}
	steps()

	// Killed without a word, and back with its volume.
	epoch := d.view().Epoch
	d.end(name(0), syscall.SIGKILL)
	d.eventually("its silence is noticed", func(v wire.View) bool { return len(v.Up) == 5 })
	steps()
	require.Contains(t, d.exec(1, "exclude no_wait "+d.address(0)), "Missing from cluster!")
	d.exec(1, "include all")
	d.start(0)
	d.eventually("it is back", func(v wire.View) bool { return len(v.Up) == 6 && v.SpareCopies == 1 })
	require.Greater(t, d.view().Epoch, epoch)

	// Ended in order: that is known at once.
	d.end(name(4), syscall.SIGTERM)
	require.Len(t, d.view().Up, 5)
	d.start(4)
	d.eventually("it is back", func(v wire.View) bool { return len(v.Up) == 6 && v.Available })

	// Emptied, moved off, and its volume lost.
	require.Contains(t, d.exec(0, "exclude locality_instance_id:fdb-5"), d.address(5)+"  ---- Successfully excluded.")
	d.end(name(5), syscall.SIGTERM)
	require.NoError(t, os.RemoveAll(d.data(5)))
	d.start(5)
	d.eventually("it is back on another volume", func(v wire.View) bool { return len(v.Up) == 6 })
	d.exec(0, "include locality_instance_id:fdb-5")
	d.eventually("nothing is lost", func(v wire.View) bool { return v.DataKept && v.SpareCopies == 1 && v.Lost == 0 })
	steps()

	// Coordinators move, and every cluster file follows. Which processes came first has decided who they were.
	was, err := wire.ReadClusterFile(d.file(0))
	require.NoError(t, err)
	var others []string // of each zone the process that was none
	for n := range 3 {
		if slices.Contains(was.Addresses, d.address(n)) {
			n += 3
		}
		others = append(others, d.address(n))
	}
	require.Contains(t, d.exec(0, "coordinators "+strings.Join(others, " ")), "Coordination state changed")
	require.Eventually(t, func() bool {
		for n := range 6 {
			if f, err := wire.ReadClusterFile(d.file(n)); err != nil || !slices.Equal(slices.Sorted(slices.Values(f.Addresses)), slices.Sorted(slices.Values(others))) {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond)

	// A whole zone goes; what was acknowledged is there.
	d.end(name(1), syscall.SIGKILL)
	d.end(name(4), syscall.SIGKILL)
	d.eventually("a zone is gone", func(v wire.View) bool { return len(v.Up) == 4 && v.Available })
	steps()
	d.start(1)
	d.start(4)
	d.eventually("it is back", func(v wire.View) bool { return len(v.Up) == 6 && v.SpareCopies == 1 })

	// The world itself starts again, and nobody notices.
	before := d.view()
	d.end("world", syscall.SIGTERM)
	d.startWorld(6)
	d.eventually("the world goes on", func(v wire.View) bool { return v.Available && len(v.Up) == 6 })
	require.Equal(t, before.Epoch, d.view().Epoch, "no process was missed")
	steps()

	stats := c.Verify(t.Context())
	require.Zero(t, stats.Lost, stats.String())
	require.Zero(t, stats.Failed, stats.String())
	require.Equal(t, 5*40, stats.Writes)
	require.Zero(t, d.view().Lost)
}

func TestLostWritesAreSeen(t *testing.T) {
	c := fdbsimtest.Start(t, fdbsimtest.Options{Redundancy: "single", Scale: 100})
	writer, err := client.New(client.Options{ClusterFile: c.ClusterFile, Keys: 50, Patience: time.Minute})
	require.NoError(t, err)
	for range 50 {
		writer.Step(t.Context())
	}
	require.Zero(t, writer.Stats().Lost)
	require.True(t, c.Settle())
	victim := "fdb-8"
	c.Kill(victim)
	c.LoseVolume(victim)
	require.Positive(t, c.Model().Lost)
	c.Start(victim)
	require.False(t, c.Truth().DataKept)
	// The shards without a copy stay out of reach, as there is nothing to copy: no answer, rather than a wrong one.
	quick, err := client.New(client.Options{ClusterFile: c.ClusterFile, Keys: 50, Patience: 100 * time.Millisecond})
	require.NoError(t, err)
	require.Positive(t, quick.Verify(t.Context()).Failed)
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	sim := fdbsimtest.Program(t, "fdbsim", version)
	install := func(coordinators string) (string, error) {
		cmd := exec.Command(sim, "install", "-dir", dir, "-coordinators", coordinators)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		return errs.String(), err
	}
	text, err := install("nobody")
	require.Error(t, err)
	require.Contains(t, text, `-coordinators "nobody": want description:id@host:port,host:port, or only its last part`)
	for range 2 {
		text, err = install("fdb-0.fdb:4500,fdb-1.fdb:4500")
		require.NoError(t, err, text)
	}
	connection, err := wire.ReadClusterFile(filepath.Join(dir, "fdb.cluster"))
	require.NoError(t, err)
	require.Equal(t, []string{"fdb-0.fdb:4500", "fdb-1.fdb:4500"}, connection.Addresses)
	out, err := exec.Command(filepath.Join(dir, "bin", version, "fdbcli"), "--version").Output()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(out), "FoundationDB CLI 7.3 (v7.3.63)"))

	// Of a database that there is, with the key of its connection string.
	there := t.TempDir()
	out, err = exec.Command(sim, "install", "-dir", there, "-connection", "fdb:abc@fdb-7.fdb:4500").CombinedOutput()
	require.NoError(t, err, string(out))
	connection, err = wire.ReadClusterFile(filepath.Join(there, "fdb.cluster"))
	require.NoError(t, err)
	require.Equal(t, "fdb:abc@fdb-7.fdb:4500", connection.String())
}
