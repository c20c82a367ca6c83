package fdbsimtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
)

// run runs fdbcli.
func run(t *testing.T, c *fdbsimtest.Cluster, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.CLI, append([]string{"-C", c.ClusterFile}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit, "%v", err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestEveryCommandAnswers(t *testing.T) {
	c := fdbsimtest.Start(t, fdbsimtest.Options{Scale: 100})
	out, errs, code := run(t, c, "--exec", "status json", "--timeout", "60")
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	var status struct {
		Client struct {
			Status struct{ Available, Healthy bool } `json:"database_status"`
		}
		Cluster struct {
			Processes map[string]struct{ Address string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.True(t, status.Client.Status.Available)
	require.True(t, status.Client.Status.Healthy)
	require.Len(t, status.Cluster.Processes, 9)

	for _, command := range []string{
		"exclude", "exclude no_wait locality_instance_id:fdb-4", "include locality_instance_id:fdb-4", "include all",
		"maintenance", "maintenance on zone-a 60", "maintenance off", "coordinators", "coordinators auto",
	} {
		_, errs, code := run(t, c, "--exec", command, "--timeout", "60")
		require.Zero(t, code, "%s: %s", command, errs)
	}
}

func TestProcessesGoAndCome(t *testing.T) {
	c := fdbsimtest.Start(t, fdbsimtest.Options{Scale: 100})
	require.Equal(t, []string{"fdb-0", "fdb-3", "fdb-6"}, c.InZone("zone-a"))
	require.Equal(t, 1, c.Truth().SpareCopies)
	c.KillZone("zone-a")
	require.Zero(t, c.Truth().SpareCopies)
	c.Advance(10 * time.Second)
	out, _, code := run(t, c, "--exec", "status json", "--timeout", "60")
	require.Zero(t, code)
	require.Contains(t, out, `"available" : true`, "over the coordinators that are left")
	require.NotContains(t, out, `"instance_id" : "fdb-0"`)
	c.StartZone("zone-a")
	c.StartZone("zone-a") // those that are there stay as they are
	require.True(t, c.Settle())
	require.Equal(t, 1, c.Truth().SpareCopies)

	c.Kill("fdb-4")
	c.LoseVolume("fdb-4")
	c.Move("fdb-4", "zone-c")
	c.Upgrade("fdb-4", "7.3.70")
	c.Start("fdb-4")
	require.True(t, c.Settle())
	require.Equal(t, 1, c.Truth().SpareCopies)
	out, _, _ = run(t, c, "--exec", "status json", "--timeout", "60")
	require.Contains(t, out, `"version" : "7.3.70"`)
	require.NotContains(t, c.InZone("zone-b"), "fdb-4")

	for _, instance := range c.Processes() {
		c.Restart(instance)
	}
	require.True(t, c.Settle())
	require.True(t, c.Truth().Available)
}

func TestClusterFileFollowsCoordinators(t *testing.T) {
	c := fdbsimtest.Start(t, fdbsimtest.Options{Scale: 100})
	m := c.Model()
	seats := m.Process("fdb-3").Address + " " + m.Process("fdb-4").Address + " " + m.Process("fdb-5").Address
	before, err := os.ReadFile(c.ClusterFile)
	require.NoError(t, err)
	stale := filepath.Join(t.TempDir(), "fdb.cluster")
	require.NoError(t, os.WriteFile(stale, before, 0o600))
	out, errs, code := run(t, c, "--exec", "coordinators "+seats, "--timeout", "60")
	require.Zero(t, code, errs)
	require.Equal(t, "Coordination state changed\n", out)
	after, err := os.ReadFile(c.ClusterFile)
	require.NoError(t, err)
	require.Equal(t, c.Model().Connection()+"\n", string(after))
	require.NotEqual(t, string(before), string(after))

	// Old coordinators show the way.
	output, err := exec.Command(c.CLI, "-C", stale, "--exec", "coordinators", "--timeout", "60").Output()
	require.NoError(t, err)
	require.Contains(t, string(output), m.Process("fdb-3").Address)
	followed, err := os.ReadFile(stale)
	require.NoError(t, err)
	require.Equal(t, string(after), string(followed))

	// A file of another database leads nowhere.
	require.NoError(t, os.WriteFile(stale, []byte("fdb:0000@"+m.Process("fdb-3").Address+"\n"), 0o600))
	output, err = exec.Command(c.CLI, "-C", stale, "--exec", "maintenance", "--timeout", "1").CombinedOutput()
	require.Error(t, err)
	require.Equal(t, "Specified timeout reached -- exiting...\n", string(output))
}

func TestFdbcliOfAnotherLineUnderstandsNothing(t *testing.T) {
	c := fdbsimtest.Start(t, fdbsimtest.Options{Version: "7.1.67"})
	c.CLI = fdbsimtest.Program(t, "fdbcli", "7.3.63")
	_, errs, code := run(t, c, "--exec", "maintenance", "--timeout", "1")
	require.Equal(t, 1, code)
	require.Equal(t, "Specified timeout reached -- exiting...\n", errs)
	out, _, code := run(t, c, "--exec", "status json", "--timeout", "60")
	require.Zero(t, code)
	require.Contains(t, out, `"available" : false`)
}

func TestFaults(t *testing.T) {
	c := fdbsimtest.Start(t, fdbsimtest.Options{})
	c.Fault(fdbsimtest.Garbage)
	out, _, code := run(t, c, "--exec", "status json", "--timeout", "60")
	require.Zero(t, code)
	require.False(t, json.Valid([]byte(out)))
	require.Contains(t, out, "\xff\x00")

	c.Fault(fdbsimtest.Truncated)
	out, _, code = run(t, c, "--exec", "status json", "--timeout", "60")
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(out, "{"))
	require.False(t, json.Valid([]byte(out)))

	c.Fault(fdbsimtest.None)
	first := c.InZone("zone-a")[0]
	c.FaultOn(first, fdbsimtest.Fail)
	_, errs, code := run(t, c, "--exec", "maintenance", "--timeout", "60")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "ERROR: ")
	c.FaultOn(first, fdbsimtest.None)

	require.Equal(t, []string{"status json", "status json", "maintenance"}, c.Calls())

	c.Fault(fdbsimtest.Endless)
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	endless := exec.CommandContext(ctx, c.CLI, "-C", c.ClusterFile, "--exec", "status json", "--timeout", "60")
	counted := &counter{enough: enough}
	endless.Stdout = counted
	require.Error(t, endless.Run())
	require.Greater(t, counted.n, many)

	c.Fault(fdbsimtest.HangForEver)
	deaf, ended := hanging(t, c)
	require.GreaterOrEqual(t, len(c.Calls()), 5)
	require.NoError(t, deaf.Process.Signal(syscall.SIGTERM))
	select {
	case <-ended:
		require.FailNow(t, "it listened")
	case <-time.After(500 * time.Millisecond):
	}
	require.NoError(t, deaf.Process.Kill())
	require.Error(t, <-ended)
}

// hanging is an fdbcli that hangs for ever, and that has longer than its timeout. It gets a
// timeout in which it can ask for the fault, however slow the machine is.
func hanging(t *testing.T, c *fdbsimtest.Cluster) (*exec.Cmd, <-chan error) {
	t.Helper()
	for timeout := 1; timeout < 100; timeout *= 4 {
		deaf := exec.Command(c.CLI, "-C", c.ClusterFile, "--exec", "status json", "--timeout", strconv.Itoa(timeout))
		require.NoError(t, deaf.Start())
		ended := make(chan error, 1)
		go func() { ended <- deaf.Wait() }()
		for !ignores(deaf.Process.Pid, syscall.SIGTERM) && len(ended) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if len(ended) == 0 {
			time.Sleep(time.Duration(timeout) * time.Second)
			return deaf, ended
		}
	}
	require.FailNow(t, "it never hangs")
	return nil, nil
}

// many bytes are more than any buffer on the way holds.
const many = 1 << 20

type counter struct {
	n      int
	enough func() // when there are more than many
}

func (c *counter) Write(p []byte) (int, error) {
	if c.n += len(p); c.n > many {
		c.enough()
	}
	return len(p), nil
}

// ignores reports whether a signal does nothing to a process.
func ignores(pid int, s syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, mask, _ := strings.Cut(string(status), "SigIgn:")
	mask, _, _ = strings.Cut(mask, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && set&(1<<(s-1)) != 0
}

func TestTwoClustersSideBySide(t *testing.T) {
	a, b := fdbsimtest.Start(t, fdbsimtest.Options{}), fdbsimtest.Start(t, fdbsimtest.Options{})
	_, _, code := run(t, a, "--exec", "maintenance on zone-a 60", "--timeout", "60")
	require.Zero(t, code)
	out, _, _ := run(t, b, "--exec", "maintenance", "--timeout", "60")
	require.Equal(t, "No ongoing maintenance.\n", out)
}
