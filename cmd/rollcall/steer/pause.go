// Package steer has the commands by which people steer a rollout.
package steer

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Pause stops a rollout.
func Pause(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME",
		Short: "Stop a rollout; pods that are on their way come back, no other goes",
		Long: `Stop a rollout. Pods that were removed already come back; no other goes, not even
a broken one, until resume.

This sets the annotation ` + v1alpha1.AnnotationPaused + ` on the DatabaseCluster, so that a
spec which is owned by other tools stays as it is.`,
		Example:           fmt.Sprintf("  %[1]s pause search -n prod", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := a.API()
			if err == nil {
				_, err = annotate(cmd.Context(), k, args[0], v1alpha1.AnnotationPaused, "true")
			}
			if err == nil {
				fmt.Fprintf(a.Out, "databasecluster/%s paused\n", args[0])
			}
			return err
		},
	}
}

// Resume lets it go on.
func Resume(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "resume NAME",
		Short:             "Let a paused rollout go on",
		Long:              "Let a rollout that pause has stopped go on.",
		Example:           fmt.Sprintf("  %[1]s resume search -n prod", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := a.API()
			if err != nil {
				return err
			}
			object, err := annotate(cmd.Context(), k, args[0], v1alpha1.AnnotationPaused, nil)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "databasecluster/%s resumed\n", args[0])
			if object.Spec.Update.Paused {
				fmt.Fprintln(a.ErrOut, "note: it is paused all the same, by spec.update.paused")
			}
			return nil
		},
	}
}
