package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

func newPause(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME",
		Short: "Stop a rollout; pods that are on their way come back, no other goes",
		Long: `Stop a rollout. Pods that were removed already come back; no other goes, not even
a broken one, until resume.

This sets the annotation ` + v1alpha1.AnnotationPaused + ` on the DatabaseCluster, so that a
spec which is owned by other tools stays as it is.`,
		Example:           fmt.Sprintf("  %[1]s pause search -n prod", a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := a.annotate(cmd.Context(), args[0], v1alpha1.AnnotationPaused, "true")
			if err == nil {
				fmt.Fprintf(a.streams.Out, "databasecluster/%s paused\n", args[0])
			}
			return err
		},
	}
}

func newResume(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "resume NAME",
		Short:             "Let a paused rollout go on",
		Long:              "Let a rollout that pause has stopped go on.",
		Example:           fmt.Sprintf("  %[1]s resume search -n prod", a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			object, err := a.annotate(cmd.Context(), args[0], v1alpha1.AnnotationPaused, nil)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.streams.Out, "databasecluster/%s resumed\n", args[0])
			if object.Spec.Update.Paused {
				fmt.Fprintln(a.streams.ErrOut, "note: it is paused all the same, by spec.update.paused")
			}
			return nil
		},
	}
}

// annotate sets an annotation of a DatabaseCluster, and removes it with nil.
func (a *app) annotate(ctx context.Context, name, key string, value any) (*v1alpha1.DatabaseCluster, error) {
	ns, err := a.namespace()
	if err != nil {
		return nil, err
	}
	clients, _, err := a.clients()
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return nil, err
	}
	object, err := clients.DatabaseClusters(ns).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "rollcall"})
	if err != nil {
		return nil, aboutObject(err, ns, name)
	}
	return object, nil
}
