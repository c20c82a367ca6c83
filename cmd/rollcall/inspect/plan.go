package inspect

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Plan decides which pods may go.
func Plan(a *cli.App) *cobra.Command {
	var file string
	var out cli.Format
	cmd := &cobra.Command{
		Use:   "plan (NAME | --snapshot FILE)",
		Short: "Decide which pods may go now, and say why the others may not",
		Long: `Decide which pods may go now, and say why the others may not.

With a name, decide on what the coordinator sees of that DatabaseCluster. With
--snapshot, decide on a saved snapshot, in JSON or YAML; that needs no cluster.

The exit status is 0 when a plan was made, whatever it says, and 2 when the
input is not a snapshot.`,
		Example: fmt.Sprintf("  %[1]s plan search -n prod\n  %[1]s snapshot search -n prod | %[1]s plan --snapshot - -o yaml", a.Name),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case file == "" && len(args) != 1, file != "" && len(args) != 0:
				return fmt.Errorf("%s: requires the name of one DatabaseCluster or --snapshot\nSee '%s --help'", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				snapshot, err := readSnapshot(a, file)
				if err != nil {
					return err
				}
				return writePlan(a, out, policy.Decide(snapshot))
			}
			snapshot, plan, err := liveSnapshot(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			compare(a, snapshot, plan)
			return writePlan(a, out, plan)
		},
	}
	cmd.Flags().StringVar(&file, "snapshot", "", "decide on the snapshot in this file, - for standard input")
	cli.OutputFlag(cmd, &out, "text", cli.JSON, cli.YAML)
	return cmd
}

func writePlan(a *cli.App, f cli.Format, plan model.Plan) error {
	if f == cli.Text {
		_, err := io.WriteString(a.Out, plan.Text())
		return err
	}
	return a.WriteValue(f, plan)
}

// readSnapshot reads a snapshot in JSON or YAML. All errors exit with ExitNotASnapshot.
func readSnapshot(a *cli.App, file string) (model.Snapshot, error) {
	var snapshot model.Snapshot
	err := a.ReadDocument(file, "snapshot", func(data []byte) (err error) {
		snapshot, err = model.Decode(data)
		return err
	})
	return snapshot, err
}

// liveSnapshot is the newest snapshot and plan of the coordinator.
func liveSnapshot(ctx context.Context, a *cli.App, name string) (model.Snapshot, model.Plan, error) {
	resp, err := a.Snapshot(ctx, name)
	if err != nil {
		return model.Snapshot{}, model.Plan{}, err
	}
	snapshot, err := model.Decode([]byte(resp.GetSnapshotJson()))
	if err != nil {
		return snapshot, model.Plan{}, fmt.Errorf("the coordinator's snapshot, which may be of a newer version: %w", err)
	}
	plan, err := model.DecodePlan([]byte(resp.GetPlanJson()))
	if err != nil {
		return snapshot, plan, fmt.Errorf("the coordinator's plan, which may be of a newer version: %w", err)
	}
	return snapshot, plan, nil
}

// compare warns when this program decides differently from the coordinator.
func compare(a *cli.App, snapshot model.Snapshot, plan model.Plan) {
	if own := policy.Decide(snapshot); own.Text() != plan.Text() {
		fmt.Fprintln(a.ErrOut, "note: this program would decide otherwise than the coordinator did; they are of different versions")
	}
}
