package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// The pods of each pool come to the cache by a watch of their own, and the StatefulSets by
// another. That one of them has shown what we wrote says nothing about the others. So
// before anything is taken away the API server itself is asked whether all are there on
// whom the decision counts, and whether their StatefulSets are what was decided on.

const (
	// behindPause lies between two looks at a cache that is behind, and after so many
	// the claim is given up: others can use what it reserves.
	behindPause = time.Second
	maxBehind   = 30
	// listPage bounds how many whole pods are in memory at once.
	listPage = 250
)

// errBehind: the decision was made from a cache that does not show what the API server has.
var errBehind = errors.New("the cache is behind")

// stillThere asks the API server itself for what could have gone since the snapshot. That
// is one request for the StatefulSets and one for the pods of each of them. going is the
// pod that is to be freed or removed, if it is one.
func (a *Actor) stillThere(ctx context.Context, at Situation, going string) error {
	if err := a.sets.stillAs(ctx, a.options.Name, at); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, pool := range at.Pools {
		if err := a.pods.standing(ctx, pool.Selector, there); err != nil {
			return err
		}
	}
	for i := range at.Snapshot.Pods {
		p := &at.Snapshot.Pods[i]
		if p.Phase == model.Missing || p.Phase == model.Terminating || there[p.UID] || charged(at.Snapshot, p.UID, going) || at.pool(p.Pool) == nil {
			continue
		}
		return fmt.Errorf("%w: %s is gone or being deleted, and that is not shown yet", errBehind, p.Name)
	}
	return nil
}

// charged: the pod has a claim, and so counts as away anyhow. One that the hold line frees only after
// the pod that goes does not.
func charged(s model.Snapshot, uid, going string) bool {
	claims := s.Cluster.Status.Claims
	its := slices.IndexFunc(claims, func(c model.Claim) bool { return c.UID == uid })
	return its >= 0 && !slices.ContainsFunc(ahead(s, claims[its]), func(p model.Pod) bool { return p.Name == going })
}

// standing adds the UIDs of the pods that nobody has deleted.
func (p *Pods) standing(ctx context.Context, selector string, there map[string]bool) error {
	page := metav1.ListOptions{LabelSelector: selector, Limit: listPage}
	for {
		list, err := p.client.CoreV1().Pods(p.namespace).List(ctx, page)
		if err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		for i := range list.Items {
			if pod := &list.Items[i]; pod.DeletionTimestamp == nil {
				there[string(pod.UID)] = true
			}
		}
		if page.Continue = list.Continue; page.Continue == "" {
			return nil
		}
	}
}

// stillAs compares the StatefulSets of a database with those that were decided on.
func (s *Sets) stillAs(ctx context.Context, cluster string, at Situation) error {
	if len(at.Pools) == 0 {
		return nil
	}
	list, err := s.client.AppsV1().StatefulSets(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + cluster})
	if err != nil {
		return fmt.Errorf("list StatefulSets: %w", err)
	}
	now := map[types.UID]SeenSet{}
	for i := range list.Items {
		now[list.Items[i].UID] = seenSetOf(&list.Items[i])
	}
	for _, pool := range at.Pools {
		switch set, ok := now[types.UID(pool.UID)]; {
		case !ok:
			return fmt.Errorf("%w: StatefulSet %s is gone, or is the database's no more, and that is not shown yet", errBehind, pool.Name)
		case set.Generation != pool.Generation:
			return fmt.Errorf("%w: the spec of StatefulSet %s has changed, and that is not shown yet", errBehind, pool.Name)
		case set.Paused && !at.Snapshot.Cluster.Paused:
			return fmt.Errorf("%w: StatefulSet %s has been paused, and that is not shown yet", errBehind, pool.Name)
		}
	}
	return nil
}

// behind notes that the cache is, and when to look again.
func (r *run) behind(now time.Time, err error) {
	r.problem, r.refusedUntil = err.Error(), now.Add(behindPause)
	if r.behinds++; r.behinds >= maxBehind {
		r.abandon(err.Error(), model.Unstable)
	}
}
