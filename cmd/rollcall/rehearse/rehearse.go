// Package rehearse has the command that shows a simulated rollout.
package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/rehearsal"
)

// Command rolls a change through a simulated database.
func Command(a *cli.App) *cobra.Command {
	o := rehearsal.Default()
	var (
		engine, speed string
		everything    bool
		out           cli.Format
	)
	cmd := &cobra.Command{
		Use:   "rehearse",
		Short: "Watch a simulated rollout: no cluster, no root, a second",
		Long: `Watch a rollout in a simulated world. The real coordinator and the real agents
roll a new template through a database, a Kubernetes and a network that are
simulated in this process, in virtual time. That needs no cluster.

Each line says when something happened, who did it and what it was; plans are
in the words of 'plan' and 'explain': order is who goes when, go is what is done
to a pod, after which preparation and why, claim is how far that has come, and
hold is the rule why a pod waits, - for all of them. What passes within a second,
and requests, are shown with --all. At the end stands how things really were, and
what the simulation's oracle has checked. The same arguments give the same output.

Faults, with how long they last, --fault NAME, NAME@AT or NAME@AT+FOR, such as
kill-leader@12s or partition@8s+30s; without AT they begin at 4s, when the first
pod is unavailable:

` + rehearsal.Faults() + `

--seed N replays one of the runs of 'make sim', whose database and faults are
drawn; its last line has the digest of the log that 'go run ./test/sim/cmd
-seed N' prints.

The exit status is 0 when the rollout ended and no invariant was broken, and 1
otherwise.`,
		Example: fmt.Sprintf("  %[1]s rehearse\n  %[1]s rehearse --fault kill-leader --fault kill-coordinator@15s\n  %[1]s rehearse --seed 7 --speed 10x", a.Name),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("seed") {
				if err := seedAlone(cmd, o.Seed); err != nil {
					return err
				}
			}
			times, err := parseSpeed(speed)
			if err != nil {
				return err
			}
			o.Engine = model.Engine(engine)
			r, err := rehearsal.Run(o)
			rehearsal.Clean()
			if err != nil {
				return err
			}
			if err := showRehearsal(cmd.Context(), a, r, everything, times, out); err != nil {
				return err
			}
			return r.Summary.Err()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&engine, "engine", string(o.Engine), "engine whose shape the database has; there is Solr")
	flags.IntVar(&o.Pods, "pods", o.Pods, "how many pods")
	flags.IntVar(&o.Shards, "shards", o.Shards, "how many shards")
	flags.IntVar(&o.Copies, "copies", o.Copies, "how many copies of each shard")
	flags.IntVar(&o.MaxUnavailable, "max-unavailable", o.MaxUnavailable, "how many pods may be unavailable")
	flags.StringArrayVar(&o.Faults, "fault", nil, "fault that happens, see above; more than once for more")
	flags.Uint64Var(&o.Seed, "seed", 0, "replay the run of this seed of the simulation instead")
	flags.StringVar(&speed, "speed", "0", "show it in real time, so many times as fast, such as 1x or 10x; 0 = at once")
	flags.BoolVar(&everything, "all", false, "show requests and what passes within a second, too")
	cli.OutputFlag(cmd, &out, "text", cli.JSON)
	_ = cmd.RegisterFlagCompletionFunc("fault", cobra.FixedCompletions(rehearsal.FaultNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// seedAlone refuses flags whose values a seed determines.
func seedAlone(cmd *cobra.Command, seed uint64) error {
	if seed == 0 {
		return errors.New("--seed is 0: seeds begin with 1")
	}
	for _, drawn := range []string{"engine", "pods", "shards", "copies", "max-unavailable", "fault"} {
		if cmd.Flags().Changed(drawn) {
			return fmt.Errorf("--%s: --seed draws that", drawn)
		}
	}
	return nil
}

// parseSpeed reads 10x, or 10; 0 is at once.
func parseSpeed(text string) (float64, error) {
	times, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(times >= 0 && times <= 1e6) {
		return 0, fmt.Errorf("--speed is %q: must be 0, or a multiple such as 10x", text)
	}
	return times, nil
}

// showRehearsal writes the timeline, in its time divided by speed, and the summary.
func showRehearsal(ctx context.Context, a *cli.App, r rehearsal.Rehearsal, everything bool, speed float64, f cli.Format) error {
	w, palette := a.Out, a.Palette()
	at := time.Duration(0)
	for _, e := range r.Timeline(everything) {
		if err := pass(ctx, e.At-at, speed); err != nil {
			return err
		}
		at = e.At
		if err := writeEvent(w, palette, f, e); err != nil {
			return err
		}
	}
	if f == cli.JSON {
		return writeLine(w, r.Summary)
	}
	_, err := fmt.Fprintf(w, "\n%s", r.Summary)
	return err
}

// pass waits for virtual time; a speed of 0 does not.
func pass(ctx context.Context, d time.Duration, speed float64) error {
	if speed == 0 || d <= 0 {
		return ctx.Err()
	}
	if err := cli.Sleep(ctx, time.Duration(float64(d)/speed)); err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	return nil
}

func writeEvent(w io.Writer, p show.Palette, f cli.Format, e rehearsal.Event) error {
	if f == cli.JSON {
		return writeLine(w, e)
	}
	mark := map[rehearsal.Kind]show.Mark{
		rehearsal.Go: show.Good, rehearsal.Hold: show.Waiting, rehearsal.Fault: show.Bad, rehearsal.Broken: show.Bad, rehearsal.Call: show.Faint,
	}[e.Kind]
	_, err := fmt.Fprintln(w, p.Paint(mark, show.Clean(e.String())))
	return err
}

// writeLine writes a value as JSON on one line.
func writeLine(w io.Writer, value any) error {
	return json.NewEncoder(w).Encode(value)
}
