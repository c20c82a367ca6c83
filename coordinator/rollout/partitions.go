package rollout

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// partition is what this coordinator knows about the partition of one pool.
type partition struct {
	retry
	// moved is the StatefulSet after our last write of its partition. undone is true if somebody
	// has written another one since.
	moved   *effect.SetSeen
	undone  bool
	resets  int
	resetAt time.Time
}

func (a *step) partitionOf(pool string) *partition {
	if a.s.partitions[pool] == nil {
		a.s.partitions[pool] = &partition{}
	}
	return a.s.partitions[pool]
}

// moved notes a write of a partition.
func (a *step) moved(set *effect.SetSeen) {
	if set != nil {
		l := a.partitionOf(set.Name)
		l.moved, l.undone = set, false
	}
}

// movePartitions moves the partitions that the plan wants elsewhere, where that frees no pod, and
// counts how often somebody moves them back.
func (a *step) movePartitions() {
	for _, pool := range a.Pools {
		l := a.partitionOf(pool.Name)
		l.count(a.now, pool)
		if l.resets >= manyResets {
			if a.out.Resets == nil {
				a.out.Resets = map[string]int{}
			}
			a.out.Resets[pool.Name] = l.resets
		}
		wanted := slices.IndexFunc(a.plan.Lines, func(w model.Line) bool { return w.Pool == pool.Name })
		if wanted < 0 || l.busy || !a.mayMove(pool, a.plan.Lines[wanted]) {
			continue
		}
		if a.now.Before(l.retryAt) {
			a.out.wake(l.retryAt)
			continue
		}
		l.busy = true
		a.movePartition(pool, a.plan.Lines[wanted])
	}
}

// count distinguishes an edit of the partition after ours from a cache that is behind.
func (l *partition) count(now time.Time, pool effect.Pool) {
	if l.resets > 0 && now.Sub(l.resetAt) > resetsForget {
		l.resets = 0
	}
	ours := l.moved
	if ours == nil || l.undone || !pool.Foreign || pool.Generation <= ours.Generation || pool.UID != ours.UID {
		return
	}
	l.undone, l.resetAt = true, now
	l.resets++
	if l.resets > 1 {
		l.retryAt = now.Add(min(firstResetPause<<min(l.resets-2, 8), lastResetPause))
	}
}

// mayMove reports whether a partition may be moved. After a rollout it goes back to rest only when
// the StatefulSet controller has made the new revision the current one, because pods below the
// partition are recreated on the current revision.
func (a *step) mayMove(pool effect.Pool, to model.Line) bool {
	known := slices.IndexFunc(a.Snapshot.Pools, func(p model.Pool) bool { return p.Name == pool.Name })
	return known >= 0 && (!raisesAtRest(a.Snapshot, a.Snapshot.Pools[known], to) || pool.CurrentRevision == a.Snapshot.Pools[known].Revision)
}

func (a *step) movePartition(known effect.Pool, to model.Line) {
	at := slices.IndexFunc(a.Snapshot.Pools, func(p model.Pool) bool { return p.Name == to.Pool })
	pool := a.Snapshot.Pools[at]
	e := effect.MovePartition{Move: effect.PartitionMove{Pool: known, Force: pool.Force, To: to.Partition}, Reason: to.Reason, Expected: a.expected()}
	if raisesAtRest(a.Snapshot, pool, to) {
		e.Finished = pool.Revision
	}
	if to.Partition < pool.Partition { // a pod that has gone since has come back on the old revision
		e.CheckOthers, e.Expected = true, a.expectedOfAll("")
	}
	a.effect(e)
}

func (a *step) learnPartitionMoved(res effect.PartitionMoved) {
	l := a.partitionOf(res.Pool)
	l.busy = false
	a.moved(res.Moved)
	if res.Err != nil {
		l.failed(a.now, res.Err)
	} else {
		l.errors = 0 // but not when it may be moved, which resets postpone
	}
	a.noteSuperseded(res.Err)
}
