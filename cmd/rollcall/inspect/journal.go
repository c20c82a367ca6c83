package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Journal lists the decisions.
func Journal(a *cli.App) *cobra.Command {
	var last int32
	var out cli.Format
	cmd := &cobra.Command{
		Use:   "journal NAME",
		Short: "Show how the decisions about a DatabaseCluster changed",
		Long: `Show each decision about a DatabaseCluster that differed from the one before:
when it was made, in which epoch, who could go and what held the others.

The elected coordinator keeps the newest ones in memory, at most 256 and 256 KiB
for each DatabaseCluster. -o json and yaml write them with everything that they
depended on; replay decides that again.`,
		Example:           fmt.Sprintf("  %[1]s journal search -n prod\n  %[1]s journal search -n prod -o json | %[1]s replay -", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return fmt.Errorf("--last is %d: must be a number of entries, or 0 for all", last)
			}
			j, err := liveJournal(cmd.Context(), a, args[0], last)
			if err != nil {
				return err
			}
			if out != cli.Text {
				return a.WriteValue(out, j)
			}
			for _, e := range j.Entries {
				fmt.Fprintf(a.Out, "%s  epoch %d  %-8s  %s\n", e.At.Time.UTC().Format(time.RFC3339), e.Epoch, e.Plan.Phase, verdictLine(e.Plan))
			}
			return nil
		},
	}
	cmd.Flags().Int32Var(&last, "last", 0, "at most so many, the newest; 0 = all that are kept")
	cli.OutputFlag(cmd, &out, "text", cli.JSON, cli.YAML)
	return cmd
}

func liveJournal(ctx context.Context, a *cli.App, name string, last int32) (journal.Journal, error) {
	ns, err := a.Namespace()
	if err != nil {
		return journal.Journal{}, err
	}
	j := journal.Journal{Version: journal.Version, Cluster: ns + "/" + name, Entries: []journal.Entry{}}
	err = a.Ask(ctx, cli.CallTimeout, func(ctx context.Context, c *reach.Coordinator) error {
		stream, err := c.ListJournal(ctx, &rollcallv1.ListJournalRequest{Namespace: ns, Name: name, Last: last})
		if err != nil {
			return err
		}
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			var e journal.Entry
			if err := json.Unmarshal([]byte(m.GetEntryJson()), &e); err != nil {
				return fmt.Errorf("the coordinator's journal, which may be of a newer version: %w", err)
			}
			j.Entries = append(j.Entries, e)
		}
	})
	return j, err
}

// verdictLine says in one line who goes and what holds the others.
func verdictLine(p model.Plan) string {
	var parts []string
	for _, s := range p.Steps {
		parts = append(parts, fmt.Sprintf("go %s %s (%s)", s.Pod, s.Action, s.Reason))
	}
	if len(p.Holds) > 0 {
		h := p.Holds[0]
		parts = append(parts, fmt.Sprintf("hold %s %s", cmp.Or(h.Pod, "-"), h.Rule))
		if more := len(p.Holds) - 1; more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more held", more))
		}
	}
	if len(parts) == 0 {
		return "nobody should go"
	}
	return strings.Join(parts, ", ")
}
