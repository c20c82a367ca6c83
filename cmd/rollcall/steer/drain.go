package steer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Drain waits until the pods of databases have left a node.
func Drain(a *cli.App) *cobra.Command {
	timeout := time.Hour
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Cordon a node and wait until the pods of all databases have left it",
		Long: `Cordon a node and wait until the pods of all databases have left it: each is drained
and goes when the policy lets it, as in a rollout. Other pods are left to kubectl drain,
which can follow. Nothing is cordoned when a database would not go: its DatabaseCluster
has to say spec.update.nodeDrains.follow: true.

Set spec.drain.data.nodeDrain: Keep where volumes follow their pod to another node, as
network volumes do. The default, Lose, is for local disks: all copies are moved off each
pod first. Where they have nowhere to go, the pod stays.

The exit status is 0 when none is left, 3 when some are after --timeout; the node stays
cordoned then, and kubectl uncordon takes it back.`,
		Example:           fmt.Sprintf("  %[1]s drain node-7 && kubectl drain node-7 --ignore-daemonsets", a.Name),
		Args:              cli.OneName("node"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s: must be more than 0", timeout)
			}
			return drain(cmd.Context(), a, args[0], timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait")
	return cmd
}

func drain(ctx context.Context, a *cli.App, name string, timeout time.Duration) error {
	k, err := a.API()
	if err != nil {
		return err
	}
	node, err := k.Core.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no node %s", name)
	} else if err != nil {
		return fmt.Errorf("read node %s: %w", name, err)
	}
	left, err := databasePods(ctx, k.Core, name)
	if err != nil {
		return err
	}
	for key, pods := range byCluster(left) {
		k.Namespace = key.Namespace
		object, err := k.Cluster(ctx, key.Name)
		if err != nil {
			return err
		}
		if !object.Spec.Update.NodeDrains.Follow {
			return fmt.Errorf("databasecluster %s: spec.update.nodeDrains.follow is false, so %s would stay on %s; nothing was changed", key, strings.Join(pods, ", "), name)
		}
	}
	if !node.Spec.Unschedulable {
		_, err := k.Core.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{FieldManager: cli.FieldManager})
		if err != nil {
			return fmt.Errorf("cordon node %s: %w", name, err)
		}
		fmt.Fprintf(a.Out, "node/%s cordoned\n", name)
	}
	deadline := time.Now().Add(timeout)
	for said := ""; len(left) > 0; {
		text := stillThere(ctx, a, left)
		if text != said {
			fmt.Fprintf(a.Out, "%s  %s\n", time.Now().Format(time.TimeOnly), text)
			said = text
		}
		if time.Now().After(deadline) {
			return cli.Exit(cli.ExitTimedOut, fmt.Errorf("node %s is cordoned, and after %s not empty: %s", name, timeout, text))
		}
		if err := cli.Sleep(ctx, min(cli.PollEvery, time.Until(deadline)+time.Millisecond)); err != nil {
			return err
		}
		if left, err = databasePods(ctx, k.Core, name); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Out, "node/%s has no pod of a database\n", name)
	return nil
}

// databasePods are the pods of databases on a node, sorted.
func databasePods(ctx context.Context, core kubernetes.Interface, node string) ([]corev1.Pod, error) {
	list, err := core.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
	if err != nil {
		return nil, fmt.Errorf("list pods of node %s: %w", node, err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return databaseOf(&p) == "" || p.Spec.NodeName != node || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return pods, nil
}

// databaseOf is the DatabaseCluster of a pod, or empty.
func databaseOf(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels[v1alpha1.LabelCluster], pod.Labels[v1alpha1.LabelGuardCluster])
}

func byCluster(pods []corev1.Pod) map[types.NamespacedName][]string {
	out := map[types.NamespacedName][]string{}
	for i := range pods {
		key := types.NamespacedName{Namespace: pods[i].Namespace, Name: databaseOf(&pods[i])}
		out[key] = append(out[key], pods[i].Name)
	}
	return out
}

// stillThere lists the pods that are left, with the hold of each if it is known.
func stillThere(ctx context.Context, a *cli.App, left []corev1.Pod) string {
	why := map[string]string{}
	for key, pods := range byCluster(left) {
		list, _, err := a.ClustersOf(ctx, key.Namespace, key.Name)
		if err != nil || len(list) != 1 {
			continue
		}
		for _, h := range list[0].GetPlan().GetHolds() {
			text := fmt.Sprintf("%s: %s", h.GetRule(), h.GetReason())
			if h.GetPod() != "" {
				why[key.Namespace+"/"+h.GetPod()] = text
				continue
			}
			for _, pod := range pods { // the hold applies to all pods
				if id := key.Namespace + "/" + pod; why[id] == "" {
					why[id] = text
				}
			}
		}
	}
	var each []string
	for i := range left {
		pod := &left[i]
		text := pod.Namespace + "/" + pod.Name
		if hold := why[text]; pod.DeletionTimestamp != nil {
			text += " (is terminating)"
		} else if hold != "" {
			text += " (" + hold + ")"
		}
		each = append(each, text)
	}
	pods := "pods are"
	if len(each) == 1 {
		pods = "pod is"
	}
	return fmt.Sprintf("%d %s left: %s", len(each), pods, strings.Join(each, "; "))
}
