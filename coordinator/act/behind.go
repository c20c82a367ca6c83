package act

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// The pods of each pool come to the cache by a watch of their own, and the StatefulSets by another.
// That one watch has shown what we wrote says nothing about the others. So before a pod is freed or
// removed the API server itself is asked whether all pods exist on which the decision depends, and
// whether their StatefulSets are what was decided on.

// listPage bounds how many whole pods are in memory at once.
const listPage = 250

// stillThere asks the API server itself for what could have gone since the snapshot. That is one
// request for the StatefulSets and one for the pods of each of them.
func (x *Executor) stillThere(ctx context.Context, e effect.Expected) error {
	if err := x.sets.stillAs(ctx, x.options.Name, e); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, pool := range e.Pools {
		if err := x.pods.claimed(ctx, pool.Selector, there); err != nil {
			return err
		}
	}
	for _, p := range e.Pods {
		if !there[p.UID] {
			return fmt.Errorf("%w: %s is gone or being deleted", effect.ErrBehind, p.Pod)
		}
	}
	return nil
}

// claimed adds the UIDs of the pods that are not being deleted.
func (p *Pods) claimed(ctx context.Context, selector string, there map[string]bool) error {
	return p.each(ctx, selector, func(pod *corev1.Pod) {
		if pod.DeletionTimestamp == nil {
			there[string(pod.UID)] = true
		}
	})
}

// each asks the API server itself for all pods that a selector finds, a page at a time.
func (p *Pods) each(ctx context.Context, selector string, visit func(*corev1.Pod)) error {
	page := metav1.ListOptions{LabelSelector: selector, Limit: listPage}
	for {
		list, err := p.client.CoreV1().Pods(p.namespace).List(ctx, page)
		if err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		for i := range list.Items {
			visit(&list.Items[i])
		}
		if page.Continue = list.Continue; page.Continue == "" {
			return nil
		}
	}
}

// stillAs compares the StatefulSets of a database with those that were decided on.
func (s *Sets) stillAs(ctx context.Context, cluster string, e effect.Expected) error {
	if len(e.Pools) == 0 {
		return nil
	}
	list, err := s.client.AppsV1().StatefulSets(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + cluster})
	if err != nil {
		return fmt.Errorf("list StatefulSets: %w", err)
	}
	now := map[types.UID]effect.SetSeen{}
	for i := range list.Items {
		now[list.Items[i].UID] = seenSetOf(&list.Items[i])
	}
	for _, pool := range e.Pools {
		switch set, ok := now[types.UID(pool.UID)]; {
		case !ok:
			return fmt.Errorf("%w: StatefulSet %s is gone, or no longer belongs to the database", effect.ErrBehind, pool.Name)
		case set.Generation != pool.Generation:
			return fmt.Errorf("%w: the spec of StatefulSet %s has changed", effect.ErrBehind, pool.Name)
		case set.Paused && !e.Paused:
			return fmt.Errorf("%w: StatefulSet %s has been paused", effect.ErrBehind, pool.Name)
		}
	}
	return nil
}
