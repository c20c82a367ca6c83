package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/journal"
)

// replayed is the result of a replay, for machines.
type replayed struct {
	Cluster string      `json:"cluster"`
	Entries int         `json:"entries"`
	Same    int         `json:"same"`
	Differs []different `json:"differs"`
}

type different struct {
	Entry int    `json:"entry"` // from 0
	At    string `json:"at"`
	Was   string `json:"was"` // the plans as text
	Is    string `json:"is"`
}

// Replay decides a journal again.
func Replay(a *cli.App) *cobra.Command {
	var out cli.Format
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Decide every entry of a journal again, and compare",
		Long: `Decide every entry of a journal again, and compare with what was decided then.
That needs no cluster; - reads standard input.

The exit status is 0 when all are the same, 1 when any differs, as when the
journal was written by another version, and 2 when the input is not a journal.`,
		Example: fmt.Sprintf("  %[1]s journal search -n prod -o json > search.json\n  %[1]s replay search.json", a.Name),
		Args:    cli.OneName("file"),
		RunE: func(_ *cobra.Command, args []string) error {
			var j journal.Journal
			err := a.ReadDocument(args[0], "journal", func(data []byte) (err error) {
				j, err = journal.Decode(data)
				return err
			})
			if err != nil {
				return err
			}
			result, err := replayAll(j)
			if err != nil {
				return err
			}
			if err := writeReplayed(a, out, result); err != nil {
				return err
			}
			if n := len(result.Differs); n > 0 {
				return fmt.Errorf("%d of %d decisions differ", n, result.Entries)
			}
			return nil
		},
	}
	cli.OutputFlag(cmd, &out, "text", cli.JSON, cli.YAML)
	return cmd
}

func replayAll(j journal.Journal) (replayed, error) {
	r := replayed{Cluster: j.Cluster, Entries: len(j.Entries), Differs: []different{}}
	for i, e := range j.Entries {
		plan, same, err := journal.Replay(e)
		if err != nil {
			return r, fmt.Errorf("entries[%d]: %w", i, err)
		}
		if same {
			r.Same++
			continue
		}
		r.Differs = append(r.Differs, different{Entry: i, At: e.At.Time.UTC().Format(time.RFC3339), Was: e.Plan.Text(), Is: plan.Text()})
	}
	return r, nil
}

func writeReplayed(a *cli.App, f cli.Format, r replayed) error {
	if f != cli.Text {
		return a.WriteValue(f, r)
	}
	for _, d := range r.Differs {
		fmt.Fprintf(a.Out, "entries[%d] of %s differs\n  was\n%s  is\n%s", d.Entry, d.At, indented(d.Was), indented(d.Is))
	}
	fmt.Fprintf(a.Out, "%d of %d decisions are the same\n", r.Same, r.Entries)
	return nil
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}
