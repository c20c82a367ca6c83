package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func newPlan(a *app) *cobra.Command {
	var file string
	var out format
	cmd := &cobra.Command{
		Use:   "plan (NAME | --snapshot FILE)",
		Short: "Decide which pods may go now, and say why the others may not",
		Long: `Decide which pods may go now, and say why the others may not.

With a name, decide on what the coordinator sees of that DatabaseCluster. With
--snapshot, decide on a saved snapshot, in JSON or YAML; that needs no cluster.

The exit status is 0 when a plan was made, whatever it says, and 2 when the
input is not a snapshot.`,
		Example: fmt.Sprintf("  %[1]s plan search -n prod\n  %[1]s snapshot search -n prod | %[1]s plan --snapshot - -o yaml", a.name),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case file == "" && len(args) != 1, file != "" && len(args) != 0:
				return fmt.Errorf("%s: either the name of one DatabaseCluster or --snapshot is wanted\nSee '%s --help'", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				snapshot, err := a.readSnapshot(file)
				if err != nil {
					return err
				}
				return a.writePlan(out, policy.Decide(snapshot))
			}
			snapshot, plan, err := a.liveSnapshot(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			a.compare(snapshot, plan)
			return a.writePlan(out, plan)
		},
	}
	cmd.Flags().StringVar(&file, "snapshot", "", "decide on the snapshot in this file, - for standard input")
	outputFlag(cmd, &out, "text", formatJSON, formatYAML)
	return cmd
}

func (a *app) writePlan(f format, plan model.Plan) error {
	if f == formatText {
		_, err := io.WriteString(a.streams.Out, plan.Text())
		return err
	}
	return a.writeValue(f, plan)
}

// readSnapshot reads a snapshot in JSON or YAML. All its errors end the
// program with the status for input that is not a snapshot.
func (a *app) readSnapshot(file string) (model.Snapshot, error) {
	var snapshot model.Snapshot
	err := a.readDocument(file, "snapshot", func(data []byte) (err error) {
		snapshot, err = model.Decode(data)
		return err
	})
	return snapshot, err
}

// liveSnapshot is what the coordinator decided on last, and what it decided.
func (a *app) liveSnapshot(ctx context.Context, name string) (model.Snapshot, model.Plan, error) {
	resp, err := a.getSnapshot(ctx, name)
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

func (a *app) getSnapshot(ctx context.Context, name string) (*rollcallv1.GetSnapshotResponse, error) {
	ns, err := a.namespace()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	resp, err := c.GetSnapshot(ctx, &rollcallv1.GetSnapshotRequest{Namespace: ns, Name: name})
	if err != nil {
		return nil, fromCoordinator(err)
	}
	return resp, nil
}

// compare warns when this program would decide otherwise than the coordinator did.
func (a *app) compare(snapshot model.Snapshot, plan model.Plan) {
	if own := policy.Decide(snapshot); own.Text() != plan.Text() {
		fmt.Fprintln(a.streams.ErrOut, "note: this program would decide otherwise than the coordinator did; they are of different versions")
	}
}
