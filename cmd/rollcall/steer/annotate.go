package steer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// nowOr is the current time as the value of an annotation, or nil for cancel.
func nowOr(cancel bool) any {
	if cancel {
		return nil
	}
	return time.Now().UTC().Format(time.RFC3339)
}

// annotate sets an annotation of a DatabaseCluster; nil removes it.
func annotate(ctx context.Context, k cli.API, name, key string, value any) (*v1alpha1.DatabaseCluster, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return nil, err
	}
	object, err := k.Clusters.DatabaseClusters(k.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cli.FieldManager})
	if err != nil {
		return nil, cli.AboutObject(err, k.Namespace, name)
	}
	return object, nil
}

func readPod(ctx context.Context, k cli.API, name string) (*corev1.Pod, error) {
	pod, err := k.Core.CoreV1().Pods(k.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no pod %s in namespace %s", name, k.Namespace)
	} else if err != nil {
		return nil, fmt.Errorf("read pod %s: %w", name, err)
	}
	return pod, nil
}

// annotatePod sets an annotation of a pod, unless it was recreated since; nil removes it.
func annotatePod(ctx context.Context, k cli.API, pod *corev1.Pod, key string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	_, err = k.Core.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cli.FieldManager})
	if err != nil {
		return fmt.Errorf("mark pod %s: %w", pod.Name, err)
	}
	return nil
}
