package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Status shows how far a rollout has come, and waits for its end.
func Status(a *cli.App) *cobra.Command {
	var wait bool
	var timeout time.Duration
	var out cli.Format
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show how far a rollout has come, or wait for its end",
		Long: `Show how far a rollout has come, what is on its way and what waits for what.

With --wait, write a line whenever something changes, until the rollout is over.
The exit status is then 0 when every pod is updated and back, 1 when the rollout
has failed, 2 when it is stalled, and 3 when the time is up.`,
		Example:           fmt.Sprintf("  %[1]s status search -n prod\n  %[1]s status search -n prod --wait --timeout 30m", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := a.Namespace()
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s: must be more than 0, such as 10m", timeout)
			}
			if wait {
				return waitFor(cmd.Context(), a, ns, args[0], timeout)
			}
			list, source, err := a.ClustersOf(cmd.Context(), ns, args[0])
			if err != nil {
				return err
			}
			if out != cli.Text {
				return a.WriteProto(out, list[0])
			}
			show.Cluster(a.Out, a.Palette(), list[0], source, time.Now())
			return nil
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the rollout is over")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait")
	cli.OutputFlag(cmd, &out, "text", cli.JSON, cli.YAML)
	cmd.MarkFlagsMutuallyExclusive("wait", "output")
	return cmd
}

// waitFor follows a cluster until its rollout is over or the time is up.
func waitFor(ctx context.Context, a *cli.App, namespace, name string, timeout time.Duration) error {
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last *rollcallv1.Cluster
	var line string
	say := func(next string) { // ages alone are no news
		if status.Ageless(next) != status.Ageless(line) {
			line = next
			fmt.Fprintf(a.Out, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
		}
	}
	err := follow(timed, a, namespace, name, func(c *rollcallv1.Cluster) error {
		last = c
		say(show.Progress(c))
		switch o := outcomeOf(c); o {
		case outcomeOpen:
			return nil
		case outcomeDone:
			unseen, err := unseenChanges(timed, a, c)
			if err != nil || unseen != "" {
				if unseen != "" {
					say(unseen)
				}
				return err
			}
			return errOver
		default:
			return cli.Exit(o.status(), fmt.Errorf("the rollout of %s has %s: %s", name, o, show.Progress(c)))
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
		return cli.Exit(cli.ExitTimedOut, fmt.Errorf("the rollout of %s is not over after %s: %s", name, timeout, state))
	}
	return err
}

// errOver ends following a cluster.
var errOver = errors.New("over")
