package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func newJournal(a *app) *cobra.Command {
	var last int32
	var out format
	cmd := &cobra.Command{
		Use:   "journal NAME",
		Short: "Show how the decisions about a DatabaseCluster changed",
		Long: `Show each decision about a DatabaseCluster that differed from the one before:
when it was made, in which epoch, who could go and what held the others.

The elected coordinator keeps the newest ones in memory, at most 256 and 256 KiB
for each DatabaseCluster. -o json and yaml write them with everything that they
depended on; replay decides that again.`,
		Example:           fmt.Sprintf("  %[1]s journal search -n prod\n  %[1]s journal search -n prod -o json | %[1]s replay -", a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return fmt.Errorf("--last is %d: how many entries are wanted, or 0 for all", last)
			}
			j, err := a.liveJournal(cmd.Context(), args[0], last)
			if err != nil {
				return err
			}
			if out != formatText {
				return a.writeValue(out, j)
			}
			for _, e := range j.Entries {
				fmt.Fprintf(a.streams.Out, "%s  epoch %d  %-8s  %s\n", e.At.Time.UTC().Format(time.RFC3339), e.Epoch, e.Plan.Phase, verdictLine(e.Plan))
			}
			return nil
		},
	}
	cmd.Flags().Int32Var(&last, "last", 0, "at most so many, the newest; 0 = all that are kept")
	outputFlag(cmd, &out, "text", formatJSON, formatYAML)
	return cmd
}

func (a *app) liveJournal(ctx context.Context, name string, last int32) (journal.Journal, error) {
	ns, err := a.namespace()
	if err != nil {
		return journal.Journal{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c, err := a.dial(ctx)
	if err != nil {
		return journal.Journal{}, err
	}
	defer c.Close()
	stream, err := c.ListJournal(ctx, &rollcallv1.ListJournalRequest{Namespace: ns, Name: name, Last: last})
	if err != nil {
		return journal.Journal{}, fromCoordinator(err)
	}
	j := journal.Journal{Version: journal.Version, Cluster: ns + "/" + name, Entries: []journal.Entry{}}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return j, nil
		}
		if err != nil {
			return j, fromCoordinator(err)
		}
		var e journal.Entry
		if err := json.Unmarshal([]byte(m.GetEntryJson()), &e); err != nil {
			return j, fmt.Errorf("the coordinator's journal, which may be of a newer version: %w", err)
		}
		j.Entries = append(j.Entries, e)
	}
}

// verdictLine says in one line who goes and what holds the others.
func verdictLine(p model.Plan) string {
	var parts []string
	for _, s := range p.Steps {
		parts = append(parts, fmt.Sprintf("go %s %s (%s)", s.Pod, s.Action, s.Reason))
	}
	if len(p.Holds) > 0 {
		h := p.Holds[0]
		pod := h.Pod
		if pod == "" {
			pod = "-"
		}
		parts = append(parts, fmt.Sprintf("hold %s %s", pod, h.Rule))
		if more := len(p.Holds) - 1; more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more held", more))
		}
	}
	if len(parts) == 0 {
		return "nobody should go"
	}
	return strings.Join(parts, ", ")
}
