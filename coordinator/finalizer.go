package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

const (
	// undoFor is how long a DatabaseCluster that is being deleted waits until what was drained is
	// undone.
	undoFor = time.Minute
	// freeAfter is how long after its last claim the finalizer is removed. The next claim often
	// follows at once, and then both writes are saved.
	freeAfter = 5 * time.Second
)

// undoExpired reports whether the object is being deleted and has waited long enough for its
// claims, or no pod is left for which anything could be undone.
func undoExpired(now time.Time, cluster *v1alpha1.DatabaseCluster, pods int) bool {
	deleted := cluster.DeletionTimestamp
	return deleted != nil && (pods == 0 || now.Sub(deleted.Time) >= undoFor)
}

// unlabelledEvery is how often pods that no watch shows are listed.
const unlabelledEvery = time.Second

// showUnlabelled adds what a DatabaseCluster that is being deleted has drained in pools that are
// not shown, because they have lost their label as well: the pods still run with it. While it is
// not being deleted the label is awaited.
func (s *session) showUnlabelled(ctx context.Context, now time.Time, objects *kube.ClusterObjects) (again time.Time) {
	cluster := objects.Cluster
	shown := func(pod string) bool { return kube.HasSetOf(objects.Pools, pod) }
	hidden := len(objects.Pools) == 0 ||
		slices.ContainsFunc(cluster.Status.Claims, func(c model.Claim) bool { return !shown(c.Pod) }) ||
		slices.ContainsFunc(cluster.Status.PendingRestores, func(l model.PendingRestore) bool { return !shown(l.Pod) })
	if s.unshown = 0; cluster.DeletionTimestamp == nil || toUndo(&cluster.Status) == 0 || !hidden {
		return time.Time{}
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var err error
	if s.unshown, err = kube.Unlabelled(ctx, s.options.Kubernetes, objects); err != nil {
		s.log.Warn("the pods of a DatabaseCluster that is being deleted are not known", "error", err)
		s.unshown = 1 // as far as known
	}
	return now.Add(unlabelledEvery)
}

// toUndo counts what is to be undone before the object may go: claims, settings of the
// whole database, and what claims have left.
func toUndo(s *v1alpha1.Status) int {
	return len(s.Claims) + len(s.ClusterSettings) + len(s.PendingRestores)
}

// finalize returns the object with our finalizer on it while anything is to be undone, and without
// it otherwise. Nothing else delays a deletion. due is when it is to be called again.
func (s *session) finalize(ctx context.Context, now time.Time, cluster *v1alpha1.DatabaseCluster, open int) (object *v1alpha1.DatabaseCluster, due time.Time, err error) {
	has := slices.Contains(cluster.Finalizers, v1alpha1.Finalizer)
	if open > 0 || toUndo(&cluster.Status) > 0 {
		s.freeSince = time.Time{}
		if has || cluster.DeletionTimestamp != nil {
			return cluster, time.Time{}, nil
		}
		object, err = s.setFinalizers(ctx, cluster, append(slices.Clone(cluster.Finalizers), v1alpha1.Finalizer))
		return object, time.Time{}, err
	}
	if !has {
		return cluster, time.Time{}, nil
	}
	if s.freeSince.IsZero() {
		s.freeSince = now
	}
	if due := s.freeSince.Add(freeAfter); now.Before(due) && cluster.DeletionTimestamp == nil {
		return cluster, due, nil
	}
	object, err = s.setFinalizers(ctx, cluster, slices.DeleteFunc(slices.Clone(cluster.Finalizers), func(f string) bool { return f == v1alpha1.Finalizer }))
	return object, time.Time{}, err
}

// setFinalizers changes the very object that was decided on.
func (s *session) setFinalizers(ctx context.Context, cluster *v1alpha1.DatabaseCluster, finalizers []string) (*v1alpha1.DatabaseCluster, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": cluster.UID, "resourceVersion": cluster.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	object, err := s.options.Clusters.DatabaseClusters(s.key.Namespace).Patch(ctx, s.key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("set the finalizers of the DatabaseCluster: %w", err)
	}
	s.newest = object
	return object, nil
}
