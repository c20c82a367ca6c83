package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

func newReplace(a *app) *cobra.Command {
	var cancel, never bool
	cmd := &cobra.Command{
		Use:   "replace POD",
		Short: "Have a pod come back under its name with fresh data",
		Long: `Have a pod come back under its name with fresh data: everything is moved off it,
the database is asked whether nothing is left on it, its volume claims and the pod
are deleted, and it takes data again when it is back on new ones.

This sets the annotation ` + v1alpha1.AnnotationReplace + ` on the pod. What is asked for by name waits
for no limit of spec.replacement, and obeys all other rules: see explain. It can be
cancelled until the claim says that the pod is empty.`,
		Example: fmt.Sprintf(`  %[1]s replace fdb-3 -n prod
  %[1]s replace fdb-3 -n prod --cancel
  %[1]s replace fdb-3 -n prod --never   # it fails on purpose: leave it alone`, a.name),
		Args:              oneName("pod"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := a.namespace()
			if err != nil {
				return err
			}
			_, core, err := a.clients()
			if err != nil {
				return err
			}
			pod := args[0]
			object, err := readPod(cmd.Context(), core, ns, pod)
			switch {
			case err != nil:
				return err
			case object.Labels[v1alpha1.LabelCluster] == "" && object.Labels[v1alpha1.LabelGuardCluster] == "":
				return fmt.Errorf("pod %s belongs to no DatabaseCluster: it has no label %s", pod, v1alpha1.LabelCluster)
			}
			value, said := any(time.Now().UTC().Format(time.RFC3339)), "is to be replaced"
			switch {
			case cancel:
				value, said = nil, "is not asked to be replaced any more"
			case never:
				value, said = v1alpha1.ReplaceNever, "is not replaced because it fails"
			}
			if err := mark(cmd.Context(), core, object, v1alpha1.AnnotationReplace, value); err != nil {
				return err
			}
			fmt.Fprintf(a.streams.Out, "pod/%s %s\n", pod, said)
			return nil
		},
	}
	cmd.Flags().BoolVar(&cancel, "cancel", false, "take back what was asked for")
	cmd.Flags().BoolVar(&never, "never", false, "do not replace it because it fails")
	cmd.MarkFlagsMutuallyExclusive("cancel", "never")
	return cmd
}

func readPod(ctx context.Context, core kubernetes.Interface, ns, name string) (*corev1.Pod, error) {
	pod, err := core.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no pod %s in namespace %s", name, ns)
	} else if err != nil {
		return nil, fmt.Errorf("read pod %s: %w", name, err)
	}
	return pod, nil
}

// mark sets an annotation of exactly the pod that was read, and removes it with nil.
func mark(ctx context.Context, core kubernetes.Interface, pod *corev1.Pod, key string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	_, err = core.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "rollcall"})
	if err != nil {
		return fmt.Errorf("mark pod %s: %w", pod.Name, err)
	}
	return nil
}
