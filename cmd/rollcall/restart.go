package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

func newRestart(a *app) *cobra.Command {
	var pods []string
	var cancel bool
	cmd := &cobra.Command{
		Use:   "restart NAME [--pod POD]",
		Short: "Restart pods whose template has not changed, as a rollout restarts them",
		Long: `Restart all pods of a DatabaseCluster, or named ones, although their template has
not changed: one after the other as the policy allows, each prepared, as in a rollout.
Pods of a template that has changed go anyway.

For all pods this sets the annotation ` + v1alpha1.AnnotationRestart + ` of the DatabaseCluster to the
time now: every pod that is older is restarted once. For one pod it sets it on the pod.
--cancel takes it back for those that have not gone yet.`,
		Example: fmt.Sprintf(`  %[1]s restart search -n prod
  %[1]s restart search -n prod --pod search-3
  %[1]s restart search -n prod --cancel`, a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("pod") {
				return a.restartPods(cmd.Context(), args[0], pods, cancel)
			}
			value, said := any(time.Now().UTC().Format(time.RFC3339)), "all pods that are older than now are to be restarted"
			if cancel {
				value, said = nil, "no restart of all pods is asked for any more"
			}
			if _, err := a.annotate(cmd.Context(), args[0], v1alpha1.AnnotationRestart, value); err != nil {
				return err
			}
			fmt.Fprintf(a.streams.Out, "databasecluster/%s: %s\n", args[0], said)
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&pods, "pod", nil, "only this pod; may be given again")
	_ = cmd.RegisterFlagCompletionFunc("pod", a.completePodFlag)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "take back what was asked for")
	return cmd
}

// restartPods marks pods, or none when one of them cannot be.
func (a *app) restartPods(ctx context.Context, name string, names []string, cancel bool) error {
	ns, err := a.namespace()
	if err != nil {
		return err
	}
	clusters, core, err := a.clients()
	if err != nil {
		return err
	}
	if _, err := clusters.DatabaseClusters(ns).Get(ctx, name, metav1.GetOptions{}); err != nil {
		return aboutObject(err, ns, name)
	}
	if len(names) == 0 {
		return errors.New("--pod is empty: names of pods are wanted")
	}
	var pods []*corev1.Pod
	for _, pod := range names {
		object, err := readPod(ctx, core, ns, pod)
		switch {
		case err != nil:
			return err
		case object.Labels[v1alpha1.LabelCluster] != name && object.Labels[v1alpha1.LabelGuardCluster] != name:
			return fmt.Errorf("pod %s does not belong to %s: its label %s is %q", pod, name, v1alpha1.LabelCluster, object.Labels[v1alpha1.LabelCluster])
		}
		pods = append(pods, object)
	}
	value, said := any(time.Now().UTC().Format(time.RFC3339)), "is to be restarted"
	if cancel {
		value, said = nil, "is not asked to be restarted any more"
	}
	for _, pod := range pods {
		if err := mark(ctx, core, pod, v1alpha1.AnnotationRestart, value); err != nil {
			return err
		}
		fmt.Fprintf(a.streams.Out, "pod/%s %s\n", pod.Name, said)
	}
	return nil
}
