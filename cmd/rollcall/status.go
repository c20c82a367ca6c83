package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func newStatus(a *app) *cobra.Command {
	var wait bool
	var timeout time.Duration
	var out format
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show how far a rollout has come, or wait for its end",
		Long: `Show how far a rollout has come, what is on its way and what waits for what.

With --wait, write a line whenever something changes, until the rollout is over.
The exit status is then 0 when every pod is updated and back, 1 when the rollout
has failed, 2 when it is stalled, and 3 when the time is up.`,
		Example:           fmt.Sprintf("  %[1]s status search -n prod\n  %[1]s status search -n prod --wait --timeout 30m", a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := a.namespace()
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s: more than 0 is wanted, such as 10m", timeout)
			}
			if wait {
				return a.waitFor(cmd.Context(), ns, args[0], timeout)
			}
			list, source, err := a.clustersOf(cmd.Context(), ns, args[0])
			if err != nil {
				return err
			}
			if out != formatText {
				return a.writeProto(out, list[0])
			}
			show.Cluster(a.streams.Out, a.palette(), list[0], source, time.Now())
			return nil
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the rollout is over")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait")
	outputFlag(cmd, &out, "text", formatJSON, formatYAML)
	cmd.MarkFlagsMutuallyExclusive("wait", "output")
	return cmd
}

// waitFor follows a cluster until its rollout is over or the time is up.
func (a *app) waitFor(ctx context.Context, namespace, name string, timeout time.Duration) error {
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last *rollcallv1.Cluster
	var line string
	say := func(next string) { // that time passes is no news
		if status.Ageless(next) != status.Ageless(line) {
			line = next
			fmt.Fprintf(a.streams.Out, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
		}
	}
	err := a.follow(timed, namespace, name, func(c *rollcallv1.Cluster) error {
		last = c
		say(show.Progress(c))
		switch o := outcomeOf(c); o {
		case outcomeOpen:
			return nil
		case outcomeDone:
			unseen, err := a.unseenChanges(timed, namespace, name, c)
			if err != nil || unseen != "" {
				if unseen != "" {
					say(unseen)
				}
				return err
			}
			return errOver
		default:
			return &exitError{o.status(), fmt.Errorf("the rollout of %s has %s: %s", name, o, show.Progress(c))}
		}
	})
	switch {
	case errors.Is(err, errOver):
		return nil
	case errors.Is(timed.Err(), context.DeadlineExceeded) && ctx.Err() == nil:
		state := "nothing was heard of it"
		if last != nil {
			state = show.Progress(last)
		}
		return &exitError{exitTimedOut, fmt.Errorf("the rollout of %s is not over after %s: %s", name, timeout, state)}
	}
	return err
}

// errOver ends following a cluster.
var errOver = errors.New("over")
