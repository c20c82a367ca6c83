package fdbsimtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
)

// run runs fdbcli.
func run(t *testing.T, c *fdbsimtest.Cluster, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.CLI, append([]string{"-C", c.ClusterFile}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.True(t, errors.As(err, &exit), "%v", err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestEveryCommandAnswers(t *testing.T) {
	c := fdbsimtest.Start(t, fdbsimtest.Options{Scale: 100})
	out, errs, code := run(t, c, "--exec", "status json", "--timeout", "10")
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
		_, errs, code := run(t, c, "--exec", command, "--timeout", "10")
		require.Zero(t, code, "%s: %s", command, errs)
	}
}
