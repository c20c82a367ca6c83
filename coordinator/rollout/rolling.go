package rollout

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// The controller of a StatefulSet with the strategy RollingUpdate removes an outdated pod as soon
// as nothing refuses that: the pod is at or above the partition, and its guard is open or it has
// none. So in such a pool the claim is first noted on the pod, which frees nothing. When the cache
// shows the note and the policy still agrees, everything that stops the controller is removed in
// one move together with the pod.

// rolls reports whether a pool's own controller updates its outdated pods.
func rolls(pool *model.Pool) bool {
	return pool != nil && pool.Strategy == model.StrategyRollingUpdate
}

// byPartition reports whether pools are driven by their partition.
func byPartition(s model.Snapshot) bool {
	return s.Cluster.Spec.Update.RollingUpdate == model.RollingUpdateByPartition
}

// guarded reports whether Kubernetes refuses to remove pods with closed guards.
func guarded(s model.Snapshot) bool {
	spec := s.Cluster.Spec.WithDefaults()
	return s.Cluster.GuardEnforcing && spec.Guard == model.GuardEnforce
}

// forced reports whether a person has handed the pool to its controller.
func forced(s model.Snapshot, claim model.Claim) bool {
	pool := poolOf(s, claim.Pod)
	if !rolls(pool) || !pool.Force {
		return false
	}
	return claim.Action == model.ActionLowerPartition || claim.Action == model.ActionRestart
}

// noLongerForced reports whether the claim was made without a drain because a person had handed the
// pod to its controller, which is no longer so.
func noLongerForced(s model.Snapshot, claim model.Claim) bool {
	if claim.Action != model.ActionLowerPartition || needsDrain(claim) || broken(claim) || outage(s) || forced(s, claim) {
		return false
	}
	pod := podNamed(s, claim.Pod)
	return pod != nil && pod.Agent
}

// target returns where the partition has to be for a claimed pod to go. It returns false if the
// partition does not have to be moved.
func target(s model.Snapshot, pod string) (int32, bool) {
	step, _ := policy.Recheck(s, pod)
	if step == nil || step.Partition == nil {
		return 0, false
	}
	return *step.Partition, true
}

// goFirst returns the pods that lowering the partition to a claimed pod would free with it and that
// have not gone. They go first. A closed guard keeps them, too.
func goFirst(s model.Snapshot, claim model.Claim) []model.Pod {
	pool, pod := poolOf(s, claim.Pod), podNamed(s, claim.Pod)
	if !rolls(pool) || claim.Action != model.ActionLowerPartition || pool.Force {
		return nil
	}
	keeps := guarded(s)
	var all []model.Pod
	for _, o := range s.Pods {
		if o.Pool == pool.Name && o.Ordinal > pod.Ordinal && o.Ordinal < pool.Partition && o.Revision != pool.Revision &&
			o.Phase != model.PodPhaseMissing && o.Phase != model.PodPhaseTerminating && !(keeps && o.Guard == model.GuardClosed) {
			all = append(all, o)
		}
	}
	return all
}

// deadlock says in which way one of the pods that go first waits for this very claim to end. It
// returns an empty reason if none does. When the claim was made all of them were about to go, or
// the policy would have held the pod. A claim that was given up since may not have been made again,
// or the new one's drain writes a setting that must be restored first, which cannot happen while
// this claim needs it.
func (a *step) deadlock(claim model.Claim, ahead []model.Pod) string {
	claims := a.Snapshot.Cluster.Status.Claims
	record := settingOfClaim(&a.Record, claim.ID)
	for _, o := range ahead {
		its := slices.IndexFunc(claims, func(c model.Claim) bool { return c.UID == o.UID })
		if its < 0 {
			return o.Name + " goes first, and has no claim"
		}
		r := a.s.attempts[claims[its].ID]
		if record == nil || r == nil || r.known.Setting.Name != record.Name || slices.Contains(record.Claims, claims[its].ID) {
			continue
		}
		if a.queued(claims[its], r) {
			return fmt.Sprintf("%s goes first, and its drain waits until %s is put back, which this claim still needs", o.Name, record.Name)
		}
	}
	return ""
}

// lowerFor returns the move of the partition that lets a claimed pod go. It returns nil if the
// partition is low enough.
func (a *step) lowerFor(claim model.Claim) (*effect.PartitionMove, error) {
	to, moves := target(a.Snapshot, claim.Pod)
	pool := poolOf(a.Snapshot, claim.Pod)
	if !moves || pool.Partition <= to {
		return nil, nil
	}
	known := a.pool(pool.Name)
	if known == nil {
		return nil, fmt.Errorf("%w: %s is not known", effect.ErrSetChanged, pool.Name)
	}
	return &effect.PartitionMove{Pool: *known, Force: pool.Force, To: to}, nil
}

// onlyPartitionKeeps reports whether no guard keeps the controller from this pod, and no person has
// ordered where the partition is.
func onlyPartitionKeeps(s model.Snapshot, claim model.Claim) bool {
	pool, pod := poolOf(s, claim.Pod), podNamed(s, claim.Pod)
	return rolls(pool) && byPartition(s) && pool.Ordered == nil && pod.Revision != pool.Revision &&
		!(guarded(s) && pod.Guard != model.GuardNone)
}

// keptByPartition reports whether a restart would bring the pod back unchanged. The partition is
// not lowered for a replacement.
func keptByPartition(s model.Snapshot, pod *model.Pod) bool {
	pool := poolOf(s, pod.Name)
	return rolls(pool) && byPartition(s) && pod.Ordinal < pool.Partition
}

// raisesAtRest reports whether the partition goes up and no pod is outdated.
func raisesAtRest(s model.Snapshot, pool model.Pool, to model.Line) bool {
	return to.Partition > pool.Partition && !slices.ContainsFunc(s.Pods, func(p model.Pod) bool {
		return p.Pool == pool.Name && p.Phase != model.PodPhaseMissing && p.Revision != pool.Revision
	})
}
