package steer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Restart restarts pods whose template has not changed.
func Restart(a *cli.App) *cobra.Command {
	var pods []string
	var cancel bool
	cmd := &cobra.Command{
		Use:   "restart NAME [--pod POD]",
		Short: "Restart pods whose template has not changed, as a rollout restarts them",
		Long: `Restart all pods of a DatabaseCluster, or named ones, although their template has
not changed: one after the other as the policy allows, each drained, as in a rollout.
Pods of a template that has changed go anyway.

For all pods this sets the annotation ` + v1alpha1.AnnotationRestart + ` of the DatabaseCluster to the
time now: every pod that is older is restarted once. For one pod it sets it on the pod.
--cancel takes it back for those that have not gone yet.`,
		Example: fmt.Sprintf(`  %[1]s restart search -n prod
  %[1]s restart search -n prod --pod search-3
  %[1]s restart search -n prod --cancel`, a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := a.API()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("pod") {
				return restartPods(cmd.Context(), a, k, restarting{args[0], pods, cancel})
			}
			said := "all pods that are older than now are to be restarted"
			if cancel {
				said = "no restart of all pods is asked for any more"
			}
			if _, err := annotate(cmd.Context(), k, args[0], v1alpha1.AnnotationRestart, nowOr(cancel)); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "databasecluster/%s: %s\n", args[0], said)
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&pods, "pod", nil, "only this pod; may be given again")
	_ = cmd.RegisterFlagCompletionFunc("pod", a.CompletePodFlag)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "take back what was asked for")
	return cmd
}

type restarting struct {
	cluster string
	pods    []string
	cancel  bool
}

// restartPods annotates the pods, or none of them when one is refused.
func restartPods(ctx context.Context, a *cli.App, k cli.API, r restarting) error {
	if _, err := k.Cluster(ctx, r.cluster); err != nil {
		return err
	}
	if len(r.pods) == 0 {
		return errors.New("--pod is empty: must be names of pods")
	}
	var pods []*corev1.Pod
	for _, name := range r.pods {
		pod, err := readPod(ctx, k, name)
		switch {
		case err != nil:
			return err
		case pod.Labels[v1alpha1.LabelCluster] != r.cluster && pod.Labels[v1alpha1.LabelGuardCluster] != r.cluster:
			return fmt.Errorf("pod %s does not belong to %s: its label %s is %q", name, r.cluster, v1alpha1.LabelCluster, pod.Labels[v1alpha1.LabelCluster])
		}
		pods = append(pods, pod)
	}
	value, said := nowOr(r.cancel), "is to be restarted"
	if r.cancel {
		said = "is not asked to be restarted any more"
	}
	for _, pod := range pods {
		if err := annotatePod(ctx, k, pod, v1alpha1.AnnotationRestart, value); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "pod/%s %s\n", pod.Name, said)
	}
	return nil
}
