package act

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// The controller of a StatefulSet with the strategy RollingUpdate removes an
// outdated pod as soon as nothing refuses that any more: at or above the
// partition, with its guard open or without one. So in such a pool the claim is
// noted on the pod first, which takes nothing, and all that keeps the controller
// is taken away in one move with the removal, when the cache has shown the note
// and the policy still agrees.

// poolOf is the pool of a pod, nil when the snapshot has none.
func poolOf(s model.Snapshot, pod string) *model.Pool {
	p := podNamed(s, pod)
	if p == nil {
		return nil
	}
	for i := range s.Pools {
		if s.Pools[i].Name == p.Pool {
			return &s.Pools[i]
		}
	}
	return nil
}

// rolls says whether a pool's own controller takes its outdated pods.
func rolls(pool *model.Pool) bool {
	return pool != nil && pool.Strategy == model.RollingUpdateStrategy
}

// byLine says whether pools are driven by their partition.
func byLine(s model.Snapshot) bool {
	return s.Cluster.Spec.Update.RollingUpdate == model.ByPartition
}

// guarded says whether Kubernetes refuses to remove closed pods.
func guarded(s model.Snapshot) bool {
	spec := s.Cluster.Spec.WithDefaults()
	return s.Cluster.GuardEnforcing && spec.Guard == model.GuardEnforce
}

// forced: a person has handed the pool to its controller.
func forced(s model.Snapshot, claim model.Claim) bool {
	pool := poolOf(s, claim.Pod)
	if !rolls(pool) || !pool.Force {
		return false
	}
	return claim.Action == model.LowerPartition || claim.Action == model.Restart
}

// unforced: the claim was made without a prepare because a person had handed the
// pool to its controller, which is not so any more.
func unforced(s model.Snapshot, claim model.Claim) bool {
	if claim.Action != model.LowerPartition || prepares(claim) || broken(claim) || outage(s) || forced(s, claim) {
		return false
	}
	pod := podNamed(s, claim.Pod)
	return pod != nil && pod.Agent
}

// target is where the hold line has to be for a claimed pod to go; false when
// it need not be moved.
func target(s model.Snapshot, pod string) (int32, bool) {
	step, _ := policy.Recheck(s, pod)
	if step == nil || step.Partition == nil {
		return 0, false
	}
	return *step.Partition, true
}

// ahead are the pods that lowering the hold line to a claimed one would free
// with it, and that have not gone; they go first. A closed guard keeps them, too.
func ahead(s model.Snapshot, claim model.Claim) []model.Pod {
	pool, pod := poolOf(s, claim.Pod), podNamed(s, claim.Pod)
	if !rolls(pool) || claim.Action != model.LowerPartition || pool.Force {
		return nil
	}
	keeps := guarded(s)
	var all []model.Pod
	for _, o := range s.Pods {
		if o.Pool == pool.Name && o.Ordinal > pod.Ordinal && o.Ordinal < pool.Partition && o.Revision != pool.Revision &&
			o.Phase != model.Missing && o.Phase != model.Terminating && !(keeps && o.Guard == model.GuardClosed) {
			all = append(all, o)
		}
	}
	return all
}

// deadlock says in which way one of those that go first waits for this very claim to
// end, or empty. When the claim was made all of them were on their way, or the policy would
// have held the pod. One that was given up since may have no claim, or a new one whose
// prepare writes a setting that is put back first, and is not while this claim needs it.
func (a *Actor) deadlock(at Situation, claim model.Claim, ahead []model.Pod) string {
	claims := at.Snapshot.Cluster.Status.Claims
	record := sharedBy(&at.Cluster.Status, claim.ID)
	for _, o := range ahead {
		its := slices.IndexFunc(claims, func(c model.Claim) bool { return c.UID == o.UID })
		if its < 0 {
			return o.Name + " goes first, and has no claim"
		}
		r := a.runs[claims[its].ID]
		if record == nil || r == nil || r.heard.Shared.Knob != record.Knob || slices.Contains(record.Claims, claims[its].ID) {
			continue
		}
		if a.queued(at, claims[its], r) {
			return fmt.Sprintf("%s goes first, and its prepare waits until %s is put back, which this claim still needs", o.Name, record.Knob)
		}
	}
	return ""
}

// release takes away what keeps the controller from the pod, and removes the pod
// as it has been since the claim was noted on it. That the controller is first
// is the same removal.
func (a *Actor) release(ctx context.Context, at Situation, claim model.Claim, noted Seen) (drawn *SeenSet, err error) {
	drawn, err = a.lower(ctx, at, claim)
	if err != nil {
		return nil, err
	}
	seen := noted
	if noted.Guard == v1alpha1.GuardClosed {
		if seen, err = a.pods.open(ctx, noted, claim.ID, a.options.Epoch); err != nil {
			return drawn, a.unlessItGoes(ctx, claim, err)
		}
	}
	if err := a.pods.remove(ctx, at.Snapshot.Cluster.Spec.Update.Method, seen); err != nil {
		return drawn, a.unlessItGoes(ctx, claim, err)
	}
	return drawn, nil
}

// unlessItGoes finds out whether a pod that changed was removed by its controller.
func (a *Actor) unlessItGoes(ctx context.Context, claim model.Claim, conflict error) error {
	if !errors.Is(conflict, errConflict) {
		return conflict
	}
	switch seen, err := a.pods.read(ctx, claim.Pod, claim.UID); {
	case errors.Is(err, errGone), err == nil && seen.Leaving:
		return errGone
	}
	return conflict
}

// lower puts the hold line where the policy wants it for this pod, if it is not
// there. The StatefulSet is read before the DatabaseCluster is: whoever leads by
// then has touched it, or the write fails.
func (a *Actor) lower(ctx context.Context, at Situation, claim model.Claim) (*SeenSet, error) {
	to, moves := target(at.Snapshot, claim.Pod)
	pool := poolOf(at.Snapshot, claim.Pod)
	if !moves || pool.Partition <= to {
		return nil, nil
	}
	set, err := a.readSet(ctx, at, *pool)
	if err != nil {
		return nil, err
	}
	if err := a.stillOurs(ctx, at, claim); err != nil {
		return nil, err
	}
	drawn, err := a.sets.move(ctx, set, to)
	if err != nil {
		return nil, err
	}
	a.log.Info("hold line lowered", "pool", pool.Name, "line", to, "pod", claim.Pod)
	return &drawn, nil
}

// readSet reads the StatefulSet of a pool as it was decided on.
func (a *Actor) readSet(ctx context.Context, at Situation, pool model.Pool) (SeenSet, error) {
	known := at.pool(pool.Name)
	if known == nil {
		return SeenSet{}, fmt.Errorf("%w: %s is not known", errSetChanged, pool.Name)
	}
	set, err := a.sets.read(ctx, pool.Name)
	switch {
	case err != nil:
		return SeenSet{}, err
	case set.UID != known.UID, set.Generation != known.Generation, set.Force != pool.Force, set.Paused && !at.Snapshot.Cluster.Paused:
		return SeenSet{}, errSetChanged
	}
	return set, nil
}

// handOver carries out what the force annotation asks for: no hold line, and an
// open guard. The controller takes the pod when it likes.
func (a *Actor) handOver(ctx context.Context, at Situation, claim model.Claim) (Seen, error) {
	opened, err := a.openGuard(ctx, at, claim, true)
	if err != nil {
		return Seen{}, err
	}
	_, err = a.lower(ctx, at, claim)
	return opened, err
}

// errNotObserved: the controller may still act on the line as it was.
var errNotObserved = errors.New("the StatefulSet controller has not looked at the partition yet")

// onlyLineKeeps: no guard keeps the controller from this pod, and no person has
// ordered where the line is.
func onlyLineKeeps(s model.Snapshot, claim model.Claim) bool {
	pool, pod := poolOf(s, claim.Pod), podNamed(s, claim.Pod)
	return rolls(pool) && byLine(s) && pool.Ordered == nil && pod.Revision != pool.Revision &&
		!(guarded(s) && pod.Guard != model.GuardNone)
}

// raise puts the line above a pod that stays, and answers nil when the controller
// knows. While a write that lowers it may still be carried out, it is touched before it
// is looked at.
func (a *Actor) raise(ctx context.Context, at Situation, claim model.Claim, unanswered bool) (*SeenSet, error) {
	pool, pod := poolOf(at.Snapshot, claim.Pod), podNamed(at.Snapshot, claim.Pod)
	look := a.sets.read
	if unanswered {
		look = func(ctx context.Context, set string) (SeenSet, error) { return a.sets.touch(ctx, set, a.options.Epoch) }
	}
	set, err := look(ctx, pool.Name)
	if err != nil {
		return nil, err
	}
	var drawn *SeenSet
	if set.line() <= pod.Ordinal {
		if err := a.stillOurs(ctx, at, claim); err != nil && !errors.Is(err, errChanged) {
			return nil, err
		}
		moved, err := a.sets.move(ctx, set, pod.Ordinal+1)
		if err != nil {
			return nil, err
		}
		set, drawn = moved, &moved
	}
	if set.ObservedGeneration < set.Generation {
		return drawn, errNotObserved
	}
	return drawn, nil
}
