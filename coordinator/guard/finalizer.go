package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// free removes Rollcall's finalizer from all DatabaseClusters, and returns how many had it: no
// coordinator is left that would do it, and their deletion must not wait for ever. What a drain has
// changed then stays until the pod's own agent undoes it.
func free(ctx context.Context, clusters v1alpha1.Clients) (int, error) {
	freed := 0
	var errs []error
	err := kube.Pages(metav1.ListOptions{}, func(o metav1.ListOptions) (string, error) {
		list, err := clusters.DatabaseClusters(metav1.NamespaceAll).List(ctx, o)
		if err != nil {
			return "", fmt.Errorf("list DatabaseClusters: %w", err)
		}
		for i := range list.Items {
			cluster := &list.Items[i]
			if !slices.Contains(cluster.Finalizers, v1alpha1.Finalizer) {
				continue
			}
			switch err := freeOne(ctx, clusters, cluster); {
			case err == nil:
				freed++
			case !apierrors.IsNotFound(err):
				errs = append(errs, fmt.Errorf("take the finalizer off DatabaseCluster %s/%s: %w", cluster.Namespace, cluster.Name, err))
			}
		}
		return list.Continue, nil
	})
	return freed, errors.Join(append(errs, err)...)
}

func freeOne(ctx context.Context, clusters v1alpha1.Clients, cluster *v1alpha1.DatabaseCluster) error {
	rest := slices.DeleteFunc(slices.Clone(cluster.Finalizers), func(f string) bool { return f == v1alpha1.Finalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": cluster.UID, "resourceVersion": cluster.ResourceVersion, "finalizers": rest,
	}})
	if err != nil {
		return err
	}
	_, err = clusters.DatabaseClusters(cluster.Namespace).Patch(ctx, cluster.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
