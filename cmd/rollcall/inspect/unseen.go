package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/view"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// unseenChanges reports changes that the coordinator may not have observed yet: a rollout that
// has not started must not look finished. It is empty when there are none, and when the user
// may not read the objects.
func unseenChanges(ctx context.Context, a *cli.App, c *rollcallv1.Cluster) (string, error) {
	if a.Reach.Address != "" {
		return "", nil
	}
	k, err := a.API()
	if err != nil {
		return "", err
	}
	older, err := awaitingRestart(ctx, k, c.GetName())
	if older != "" || err != nil {
		return older, err
	}
	sets, err := k.Sets(ctx, c.GetName())
	if apierrors.IsForbidden(err) {
		return "", nil
	}
	return unseen(sets, c), err
}

// awaitingRestart reports a requested restart of all pods while older pods exist: the
// coordinator starts it half a minute later, to allow for clock skew.
func awaitingRestart(ctx context.Context, k cli.API, name string) (string, error) {
	object, err := k.Clusters.DatabaseClusters(k.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "", nil
	} else if err != nil {
		return "", cli.AboutObject(err, k.Namespace, name)
	}
	asked := view.RestartAsked(object)
	if asked.IsZero() {
		return "", nil // nobody asked, or the annotation is invalid, which the status reports
	}
	pods, err := k.Core.CoreV1().Pods(k.Namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + name})
	if apierrors.IsForbidden(err) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("list pods of %s: %w", name, err)
	}
	all := len(pods.Items)
	older := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !pod.CreationTimestamp.Time.Before(asked) })
	if len(older) == 0 {
		return "", nil
	}
	return fmt.Sprintf("a restart of all pods was asked for at %s, and %d of %d are older; it begins %s after that",
		asked.UTC().Format(time.TimeOnly), len(older), all, view.RestartLag), nil
}

func unseen(sets []appsv1.StatefulSet, c *rollcallv1.Cluster) string {
	runs := map[string]string{}
	for _, p := range c.GetPodStates() {
		runs[p.GetPod()] = p.GetRevision()
	}
	slices.SortFunc(sets, func(x, y appsv1.StatefulSet) int { return cmp.Compare(x.Name, y.Name) })
	var waiting []string
	for _, s := range sets {
		if s.Status.ObservedGeneration < s.Generation {
			waiting = append(waiting, "Kubernetes has not yet looked at the newest change of StatefulSet "+s.Name)
			continue
		}
		start, replicas := int32(0), int32(1)
		if s.Spec.Ordinals != nil {
			start = s.Spec.Ordinals.Start
		}
		if s.Spec.Replicas != nil {
			replicas = *s.Spec.Replicas
		}
		for ordinal := range replicas {
			revision, known := runs[fmt.Sprintf("%s-%d", s.Name, start+ordinal)]
			if known && revision != s.Status.UpdateRevision {
				waiting = append(waiting, "the coordinator has not yet looked at the newest change of StatefulSet "+s.Name)
				break
			}
		}
	}
	return strings.Join(waiting, "; ")
}
