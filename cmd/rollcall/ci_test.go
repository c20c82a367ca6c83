package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// step is what people put into their pipeline after the change was applied.
const step = `set -eu
code=0
rollcall status search --wait --timeout "$TIMEOUT" || code=$?
case $code in
  0) echo "step: rolled out" ;;
  1) echo "step: failed"; exit 1 ;;
  2) echo "step: stalled, somebody has to look" ; exit 2 ;;
  3) echo "step: still rolling"; exit 3 ;;
  *) echo "step: what is $code?"; exit 99 ;;
esac
`

// TestAnInterruptedWait checks that a wait that is ended by Ctrl-C says that it was interrupted.
func TestAnInterruptedWait(t *testing.T) {
	w := newWorld(t, rolling(t))
	ctx, interrupt := context.WithCancel(t.Context())
	r := w.start(ctx, "status", "search", "--wait")
	r.says("Rolling: 0 of 3 updated")
	interrupt()
	require.Equal(t, cli.ExitFailed, r.end())
	require.Equal(t, "error: interrupted\n", r.errOut.String())
}

// The program as a process of its own, in a script that ends at the first
// error: each exit status is reached, and says what the contract says.
func TestStatusWaitAsAStepOfCI(t *testing.T) {
	stalled := rolling(t, func(s *model.Snapshot) { s.Health.Verdict = model.VerdictRed })
	stalled.Phase = model.ClusterStalled
	failed := rolling(t)
	failed.Plan.Steps, failed.Plan.Holds = nil, []model.Hold{{Rule: model.RuleRolloutHalted, Reason: "1 pod of v2 failed"}}
	for _, c := range []struct {
		code          int
		before, after []status.Decision
		timeout, said string
	}{
		{cli.ExitDone, []status.Decision{rolling(t)}, []status.Decision{rolling(t, finished)}, "5m", "step: rolled out\n"},
		{cli.ExitFailed, []status.Decision{rolling(t)}, []status.Decision{failed}, "5m", "step: failed\n"},
		{cli.ExitStalled, []status.Decision{rolling(t)}, []status.Decision{stalled}, "5m", "step: stalled, somebody has to look\n"},
		{cli.ExitTimedOut, []status.Decision{rolling(t)}, nil, "2s", "step: still rolling\n"},
	} {
		t.Run(c.said, func(t *testing.T) {
			w := newWorld(t, c.before...)
			r := &running{t: t}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			shell := exec.CommandContext(ctx, "sh", "-c", step)
			shell.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(w.dir, "kubeconfig"), "HOME="+w.dir, "TIMEOUT="+c.timeout)
			shell.Stdout, shell.Stderr = &r.out, &r.errOut
			shell.WaitDelay = time.Minute
			require.NoError(t, shell.Start())
			if c.after != nil { // it waits: nothing has ended yet
				r.says("Rolling: 0 of 3 updated")
				for _, d := range c.after {
					w.board.Publish(d)
				}
			}
			err := shell.Wait()
			var exit *exec.ExitError
			if c.code == 0 {
				require.NoError(t, err, r.errOut.String())
			} else {
				require.True(t, errors.As(err, &exit), "%v", err)
				require.Equal(t, c.code, exit.ExitCode(), r.out.String()+r.errOut.String())
				require.Contains(t, r.errOut.String(), "error: the rollout of search ")
			}
			require.Contains(t, r.out.String(), c.said)
		})
	}
}
