package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// clearScreen moves to the upper left and clears what is below.
var clearScreen = printable.Escape + "[H" + printable.Escape + "[J"

// Watch shows each change as it happens.
func Watch(a *cli.App) *cobra.Command {
	var lines bool
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Watch what the coordinator decides about a database cluster",
		Long: `Watch what the coordinator decides about a database cluster, until interrupted.

On a terminal this is a view that is drawn again when something changes;
elsewhere, and with --lines, a line is written for each thing that is new.`,
		Example:           fmt.Sprintf("  %[1]s watch search -n prod", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := a.Namespace()
			if err != nil {
				return err
			}
			view := func(c *rollcallv1.Cluster) error { return drawAnew(a, c) }
			if _, _, terminal := cli.TerminalSize(a.Out); lines || !terminal {
				view = addLines(a)
			}
			err = follow(cmd.Context(), a, ns, args[0], view)
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&lines, "lines", false, "write lines on a terminal too")
	return cmd
}

func drawAnew(a *cli.App, c *rollcallv1.Cluster) error {
	var view bytes.Buffer
	view.WriteString(clearScreen)
	show.Cluster(&view, a.Palette(), c, "newest", time.Now())
	_, rows, _ := cli.TerminalSize(a.Out)
	_, err := a.Out.Write(topOf(view.Bytes(), rows))
	return err
}

// topOf cuts the view to the rows of the terminal: scrolled lines could not be redrawn.
func topOf(view []byte, rows int) []byte {
	lines := bytes.SplitAfter(view, []byte("\n"))
	lines = lines[:len(lines)-1] // the split leaves an empty last element
	if rows < 3 || len(lines) < rows {
		return view
	}
	kept := rows - 2
	return fmt.Appendf(bytes.Join(lines[:kept], nil), "... and %d more lines: see status\n", len(lines)-kept)
}

func addLines(a *cli.App) func(*rollcallv1.Cluster) error {
	var before *rollcallv1.Cluster
	return func(c *rollcallv1.Cluster) error {
		now := time.Now().Format(time.TimeOnly)
		for _, line := range show.Happened(before, c) {
			if _, err := fmt.Fprintf(a.Out, "%s  %s\n", now, line); err != nil {
				return err
			}
		}
		before = c
		return nil
	}
}
