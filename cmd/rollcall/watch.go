package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// clearScreen moves to the upper left and clears what is below.
var clearScreen = printable.Escape + "[H" + printable.Escape + "[J"

func newWatch(a *app) *cobra.Command {
	var lines bool
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Watch what the coordinator decides about a database cluster",
		Long: `Watch what the coordinator decides about a database cluster, until interrupted.

On a terminal this is a view that is drawn anew when something changes;
elsewhere, and with --lines, a line is written for each thing that is new.`,
		Example:           fmt.Sprintf("  %[1]s watch search -n prod", a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := a.namespace()
			if err != nil {
				return err
			}
			view := a.drawAnew
			if lines || !isTerminal(a.streams.Out) {
				view = a.addLines()
			}
			err = a.follow(cmd.Context(), ns, args[0], view)
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&lines, "lines", false, "write lines on a terminal too")
	return cmd
}

func (a *app) drawAnew(c *rollcallv1.Cluster) error {
	var view bytes.Buffer
	view.WriteString(clearScreen)
	show.Cluster(&view, a.palette(), c, "newest", time.Now())
	_, rows, _ := terminalSize(a.streams.Out)
	_, err := a.streams.Out.Write(topOf(view.Bytes(), rows))
	return err
}

// topOf is what fits a terminal of so many rows: more would scroll, and what
// scrolls away is not drawn over.
func topOf(view []byte, rows int) []byte {
	lines := bytes.SplitAfter(view, []byte("\n"))
	lines = lines[:len(lines)-1] // after the last end of a line there is none
	if rows < 3 || len(lines) < rows {
		return view
	}
	kept := rows - 2
	return fmt.Appendf(bytes.Join(lines[:kept], nil), "... and %d more lines: see status\n", len(lines)-kept)
}

func (a *app) addLines() func(*rollcallv1.Cluster) error {
	var before *rollcallv1.Cluster
	return func(c *rollcallv1.Cluster) error {
		now := time.Now().Format(time.TimeOnly)
		for _, line := range show.Happened(before, c) {
			if _, err := fmt.Fprintf(a.streams.Out, "%s  %s\n", now, line); err != nil {
				return err
			}
		}
		before = c
		return nil
	}
}
