package foundationdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const connectionLine = "fdb:abc@10.8.0.10:4500,10.8.0.11:4500\n"

// scripted is an engine whose fdbcli is a script. $1 of the script is the directory.
func scripted(t *testing.T, script string, change func(*Options)) (*Engine, string) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fdbcli")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/bash\nd="+dir+"\n"+script), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fdb.cluster"), []byte("# comment\n"+connectionLine), 0o400))
	o := Options{Instance: "fdb-0", Client: path, ClusterFile: filepath.Join(dir, "fdb.cluster"), Timeout: time.Minute}
	if change != nil {
		change(&o)
	}
	e, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e, dir
}

// TestHungProcessesEnd checks that hung processes are ended with their children, also those that
// ignore signals.
func TestHungProcessesEnd(t *testing.T) {
	e, dir := scripted(t, "trap '' TERM INT HUP\n(trap '' TERM; echo $BASHPID >$d/child; exec sleep 1000) &\necho $$ >$d/parent\nwait\nsleep 1000\n", func(o *Options) { o.Timeout = time.Second })
	pids := func() (all []string) { // of those that have got so far
		for _, name := range []string{"parent", "child"} {
			if pid, err := os.ReadFile(filepath.Join(dir, name)); err == nil && strings.HasSuffix(string(pid), "\n") {
				all = append(all, strings.TrimSpace(string(pid)))
			}
		}
		return all
	}
	gone := func() bool { return !slices.ContainsFunc(pids(), func(pid string) bool { return !ended(pid) }) }

	_, err := e.client.run(t.Context(), "status json")
	require.ErrorIs(t, err, ErrTimeout)
	require.Eventually(t, gone, time.Minute, 20*time.Millisecond)

	// And when nobody waits any more.
	require.NoError(t, errors.Join(os.RemoveAll(filepath.Join(dir, "parent")), os.RemoveAll(filepath.Join(dir, "child"))))
	e.client.options.Timeout = time.Minute
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	go func() {
		for ctx.Err() == nil && len(pids()) < 2 {
			time.Sleep(10 * time.Millisecond)
		}
		giveUp()
	}()
	began := time.Now()
	_, err = e.client.run(ctx, "status json")
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(began), time.Minute, "that it has time is no reason to go on")
	require.Len(t, pids(), 2)
	require.Eventually(t, gone, time.Minute, 20*time.Millisecond)
}

// ended reports whether there is no such process, or only one that nobody has waited for yet.
func ended(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestAnswersAreBounded(t *testing.T) {
	e, _ := scripted(t, `echo '{"client":{"messages":['; exec yes '{"name":"x"},'`, func(o *Options) { o.MaxBytes = 100_000 })
	_, err := e.client.status(t.Context())
	require.ErrorIs(t, err, ErrTooMuch)
	_, err = e.client.run(t.Context(), "coordinators")
	require.ErrorIs(t, err, ErrTooMuch)
	loud, _ := scripted(t, `head -c 5000000 /dev/zero | tr '\0' x >&2; echo fine`, func(o *Options) { o.Timeout = time.Minute })
	a, err := loud.client.run(t.Context(), "coordinators")
	require.NoError(t, err)
	require.Equal(t, "fine\n", a.stdout)
	require.Len(t, a.stderr, maxText)
}

// TestStreamsAndExitCodes checks that streams are kept apart, and exit codes say nothing.
func TestStreamsAndExitCodes(t *testing.T) {
	e, _ := scripted(t, "echo out; echo err >&2; exit 3\n", nil)
	a, err := e.client.run(t.Context(), "coordinators")
	require.NoError(t, err)
	require.Equal(t, answer{"out\n", "err\n"}, a)
	late, _ := scripted(t, "echo 'Specified timeout reached -- exiting...' >&2; exit 1\n", nil)
	_, err = late.client.run(t.Context(), "coordinators")
	require.ErrorIs(t, err, ErrTimeout)
	_, err = late.client.status(t.Context())
	require.ErrorIs(t, err, ErrTimeout)
}

func TestArgumentsAndEnvironment(t *testing.T) {
	t.Setenv("ROLLCALL_STOP_TOKEN", "not for others")
	e, dir := scripted(t, "printf '%s\\n' \"$@\"; env\n", func(o *Options) {
		o.TLS = TLS{Enabled: true, Certificate: "/c/tls.crt", Key: "/c/tls.key", CA: "PEM", InsecureSkipVerify: true}
	})
	a, err := e.client.run(t.Context(), "maintenance on rack-a 900; maintenance")
	require.NoError(t, err)
	require.Contains(t, a.stdout, "--exec\nmaintenance on rack-a 900; maintenance\n--timeout\n60\n")
	require.Contains(t, a.stdout, "FDB_TLS_CERTIFICATE_FILE=/c/tls.crt\n")
	require.Contains(t, a.stdout, "FDB_TLS_KEY_FILE=/c/tls.key\n")
	require.Contains(t, a.stdout, "FDB_TLS_VERIFY_PEERS=Check.Valid=0\n")
	require.NotContains(t, a.stdout, "not for others")
	require.NotContains(t, a.stdout, "-C\n"+dir+"/fdb.cluster", "the mounted file is never handed out")
	ca, err := os.ReadFile(e.client.file.authorities())
	require.NoError(t, err)
	require.Equal(t, "PEM", string(ca))
}

func TestFdbcliIsStartedByAnother(t *testing.T) {
	e, _ := scripted(t, "echo $by\n", func(o *Options) { o.Before = []string{"/usr/bin/env", "by=another"} })
	for range 2 {
		a, err := e.client.run(t.Context(), "coordinators")
		require.NoError(t, err)
		require.Equal(t, "another\n", a.stdout)
	}
}

// TestOneAtATime checks that two callers never have two processes.
func TestOneAtATime(t *testing.T) {
	e, _ := scripted(t, "mkdir $d/running || echo two; sleep 0.2; rmdir $d/running\n", func(o *Options) { o.Timeout = time.Minute })
	results, failures := make(chan string), make(chan error, 3)
	for range 3 {
		go func() {
			a, err := e.client.run(context.Background(), "coordinators")
			failures <- err
			results <- a.stdout
		}()
	}
	for range 3 {
		require.Empty(t, <-results)
		require.NoError(t, <-failures)
	}
}

func TestClusterFile(t *testing.T) {
	state := t.TempDir()
	// This fdbcli rewrites its file, as the real one does when coordinators changed.
	e, dir := scripted(t, "sed -i s/:abc@/:new@/ \"$2\"; cat \"$2\"\n", func(o *Options) { o.StateDir = state })
	source := filepath.Join(dir, "fdb.cluster")
	a, err := e.client.run(t.Context(), "coordinators")
	require.NoError(t, err)
	require.Contains(t, a.stdout, "fdb:new@")
	before, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Contains(t, string(before), "fdb:abc@", "only read")

	again, err := newClusterFile(Options{ClusterFile: source, StateDir: state})
	require.NoError(t, err)
	path, err := again.ready()
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "fdb:new@", "a restarted agent keeps what fdbcli knew")
	require.NoError(t, again.belongs("fdb:other@10.8.0.12:4500"))
	require.ErrorIs(t, again.belongs("logs:abc@10.8.0.10:4500"), ErrWrongDatabase)
	require.Error(t, again.belongs("nonsense"))

	require.NoError(t, os.Chmod(source, 0o600))
	require.NoError(t, os.WriteFile(source, []byte("fdb:torn"), 0o600))
	_, err = again.ready()
	require.NoError(t, err, "a torn file changes nothing")
	require.NoError(t, os.WriteFile(source, []byte("fdb:third@10.8.0.13:4500"), 0o600))
	_, err = again.ready()
	require.NoError(t, err)
	now, err := again.copied()
	require.NoError(t, err)
	require.Equal(t, connection{"fdb", "third", "10.8.0.13:4500"}, now)

	for _, wrong := range []string{"", "fdb@a:1", "fdb:x", "fdb:x@", ":x@a:1", "a:b@c:1\nd:e@f:1", "a:b@c:1 d"} {
		_, err := parseConnection(wrong)
		require.Error(t, err, wrong)
	}
	missing, err := newClusterFile(Options{ClusterFile: filepath.Join(dir, "none")})
	require.NoError(t, err)
	_, err = missing.ready()
	require.ErrorContains(t, err, "cluster file: ")
	require.NoError(t, missing.close())
	require.NoDirExists(t, missing.dir)
}

// TestLoader checks that libraries that lie beside fdbcli are used with their own loader.
func TestLoader(t *testing.T) {
	e, dir := scripted(t, "echo plain\n", nil)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lib"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lib", "ld.so"), []byte("#!/bin/bash\necho \"$1 $2 $3\"\n"), 0o755))
	a, err := e.client.run(t.Context(), "coordinators")
	require.NoError(t, err)
	require.Equal(t, "--library-path "+dir+"/lib "+dir+"/fdbcli\n", a.stdout)
}

func TestNoClient(t *testing.T) {
	e, _ := scripted(t, "", func(o *Options) { o.Client = "/no/such/fdbcli" })
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Contains(t, o.Health.Reason, "start fdbcli")
}

func TestOptions(t *testing.T) {
	require.NoError(t, Options{Instance: "fdb-0"}.withDefaults().validate())
	for want, change := range map[string]func(*Options){
		"instance":     func(o *Options) { o.Instance = "" },
		"the name of":  func(o *Options) { o.Instance = "a;kill" },
		"client":       func(o *Options) { o.Client = "bin/fdbcli" },
		"cluster file": func(o *Options) { o.ClusterFile = "fdb.cluster" },
		"state dir":    func(o *Options) { o.StateDir = "state" },
		"timeout":      func(o *Options) { o.Timeout = time.Hour },
		"max bytes":    func(o *Options) { o.MaxBytes = 1 },
		"recovered":    func(o *Options) { o.Recovered = -1 },
		"maintenance":  func(o *Options) { o.Maintenance = time.Second },
		"certificate":  func(o *Options) { o.TLS.Enabled = true },
	} {
		o := Options{Instance: "fdb-0"}
		change(&o)
		_, err := New(o)
		require.ErrorContains(t, err, want)
	}
}
