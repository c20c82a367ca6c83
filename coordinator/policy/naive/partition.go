package naive

import (
	"maps"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Rolling update pools".

// atRest is where the partition stands at rest.
const atRest = 1_000_000

// belowPartition reports whether rule paused holds an outdated pod that does not leave, without
// force. By guard: below the partition, or below ordered if that is higher. By partition: below the
// partition while initialized is false; below ordered; for Replace also below the partition.
func (w *world) belowPartition(c *candidate) bool {
	pool := w.pool(c.Pod)
	if !rolling(pool) || pool.Force || !w.outdated(c.Pod) || c.leaves {
		return false
	}
	belowOrdered := pool.Ordered != nil && c.Ordinal < *pool.Ordered
	below := c.Ordinal < pool.Partition
	if w.byPartition(pool) {
		return belowOrdered || below && (!w.s.Cluster.Status.Initialized || c.action == model.ActionReplace)
	}
	return belowOrdered || below
}

// wouldComeBackOld reports whether, by partition, a pod that is not outdated and below the
// partition is to be restarted, handed off or evacuated while any pod of its pool is outdated.
func (w *world) wouldComeBackOld(c *candidate) bool {
	pool := w.pool(c.Pod)
	if !w.byPartition(pool) || w.outdated(c.Pod) || c.Ordinal >= pool.Partition {
		return false
	}
	switch c.action {
	case model.ActionRestart, model.ActionHandoff, model.ActionEvacuate:
		return w.anyOutdated(pool)
	}
	return false
}

func (w *world) anyOutdated(pool *model.Pool) bool {
	return slices.ContainsFunc(w.pods, func(p *model.Pod) bool { return p.Pool == pool.Name && w.outdated(p) })
}

// between returns the desired outdated pods of the pool with a higher ordinal that are below the
// partition, neither Terminating nor claimed, without those that have been chosen from the top on.
func (w *world) between(c *candidate) []*model.Pod {
	var pods []*model.Pod
	for _, p := range w.pods { // from the top on
		if p.Pool != c.Pool || p.Ordinal <= c.Ordinal || p.Ordinal >= w.pool(p).Partition ||
			!w.desired(p) || !w.outdated(p) || p.Phase == model.PodPhaseTerminating || w.claimed(p) {
			continue
		}
		if len(pods) > 0 || !w.isChosen(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// heldByGuards reports whether guards keep the controller from every one of them.
func (w *world) heldByGuards(pods []*model.Pod) bool {
	return w.guards() && !slices.ContainsFunc(pods, func(p *model.Pod) bool { return p.Guard != model.GuardClosed })
}

// partitionNotThereYet reports whether the step is LowerPartition, not forced, while the partition goes
// back up, or while outdated pods are between. A pod outside the budget, and one asked about before
// its turn, passes those if guards keep the controller from every one of them.
func (w *world) partitionNotThereYet(c *candidate) bool {
	if !w.freed(c) {
		return false
	}
	if w.goesBackUp(w.pool(c.Pod)) {
		return true
	}
	between := w.between(c)
	return len(between) > 0 && !((c.outside || w.early == c) && w.heldByGuards(between))
}

// waitsByPartition reports whether p waits for a pod of its pool with a higher ordinal: both are
// outdated, and either that one is to be freed by LowerPartition, or p is, and that one is desired
// and below the partition.
func (w *world) waitsByPartition(p *model.Pod, c *candidate) bool {
	if p.Pool != c.Pool || c.Ordinal <= p.Ordinal || !w.outdated(p) || !w.outdated(c.Pod) {
		return false
	}
	q := find(w.order, p)
	return w.freed(c) || q != nil && w.freed(q) && w.desired(c.Pod) && c.Ordinal < w.pool(c.Pod).Partition
}

// correction reports whether the pod is outside the budget, and to be freed by LowerPartition.
func (w *world) correction(c *candidate) bool { return c.outside && w.freed(c) }

// correctionTriedFor returns the pod whose correction is tried. In an OrderedReady pool it is the
// lowest of such pods, when the first of them is asked about, including one with none between, or
// one outside the budget above it that is outdated, desired, below the partition and not forced. It
// returns nil unless it is that one's turn.
func (w *world) correctionTriedFor(c *candidate) *candidate {
	if w.pool(c.Pod).Management != model.ManagementOrderedReady {
		if w.correction(c) {
			return c
		}
		return nil
	}
	var lowest *candidate
	for _, q := range w.order {
		if q.Pool == c.Pool && q.Ordinal <= c.Ordinal && w.correction(q) && (lowest == nil || q.Ordinal < lowest.Ordinal) {
			lowest = q
		}
	}
	if lowest == nil || !w.waitsBelow(c.Pod) || !c.outside || w.isForced(c) {
		return nil
	}
	if w.notItsTurn(lowest) && !w.overridden(model.RuleOrderedReady, lowest.Name) {
		return nil
	}
	return lowest
}

// correctBelowPartition reports whether a correction takes the pods between with it, unless all
// guards hold them back. It is tried once for a pool and plan, if none of those not yet chosen has
// been asked about. All of them pass, and go, or none is chosen by that.
func (w *world) correctBelowPartition(first *candidate) bool {
	if !first.outside || w.tried[first.Pool] {
		return false
	}
	c := w.correctionTriedFor(first)
	if c == nil || w.asked[c] {
		return false
	}
	between := w.between(c)
	if len(between) == 0 || w.heldByGuards(between) {
		return false
	}
	batch := []*candidate{c}
	for _, p := range between {
		q := find(w.order, p)
		if q == nil || w.asked[q] && !w.isChosen(p) {
			return false
		}
		if !w.isChosen(p) {
			batch = append(batch, q)
		}
	}
	w.tried[c.Pool] = true
	w.sortByPods(batch)
	chosen, asked := slices.Clone(w.chosen), maps.Clone(w.asked)
	w.corrected = c.Pod
	defer func() { w.corrected = nil }()
	if len(w.ask(batch)) == 0 {
		return w.asked[first]
	}
	w.chosen, w.asked = chosen, asked
	return false
}

// goesWith reports whether p is of the OrderedReady pool of a pod with whose correction those go
// that are asked now, and not below it.
func (w *world) goesWith(p *model.Pod) bool {
	return w.corrected != nil && w.pool(w.corrected).Management == model.ManagementOrderedReady &&
		p.Pool == w.corrected.Pool && p.Ordinal >= w.corrected.Ordinal
}

// moves reports whether the partitions of the plan include this pool's.
func (w *world) moves(pool *model.Pool) bool {
	pods := slices.ContainsFunc(w.pods, func(p *model.Pod) bool { return p.Pool == pool.Name })
	return w.byPartition(pool) && pods && pool.Revision != "" && pool.Replicas > 0 && pool.Observed && !pool.Force &&
		!w.makesNoSense() && !w.observes() && w.s.Cluster.Status.Initialized
}

// goesBackUp reports whether there are no guards, no ordered, a pod that is left open, unclaimed
// and not Terminating, and each such pod serves.
func (w *world) goesBackUp(pool *model.Pool) bool {
	if !w.moves(pool) || w.guards() || pool.Ordered != nil {
		return false
	}
	open := false
	for _, p := range w.pods {
		if p.Pool != pool.Name || !w.leftOpen(p) || w.claimed(p) || p.Phase == model.PodPhaseTerminating {
			continue
		}
		if !w.servesLeftOpen(p) {
			return false
		}
		open = true
	}
	return open
}

// partitions returns the moves of partitions that free no pod.
func (w *world) partitions() []model.Line {
	var moves []model.Line
	for i := range w.s.Pools {
		pool := &w.s.Pools[i]
		if !w.moves(pool) {
			continue
		}
		if to, moved := w.partitionOf(pool); moved {
			moves = append(moves, model.Line{Pool: pool.Name, Partition: to})
		}
	}
	return moves
}

func (w *world) partitionOf(pool *model.Pool) (int32, bool) {
	switch {
	case !w.anyOutdated(pool):
		anyAway := slices.ContainsFunc(w.pods, func(p *model.Pod) bool { return p.Pool == pool.Name && w.away(p) })
		ordered := pool.Ordered != nil && *pool.Ordered > pool.Start
		return atRest, pool.Partition != atRest && !anyAway && !ordered
	case w.goesBackUp(pool):
		return atRest, true
	case w.paused():
		return 0, false
	}
	partition := min(int64(pool.Partition), int64(pool.Start)+int64(pool.Replicas))
	from := partition
	for partition > int64(pool.Start) && w.passable(pool, partition-1) {
		partition--
	}
	return int32(partition), partition < from
}

// passable reports whether the pod is not Missing, is on the pool's revision, and is not below
// ordered.
func (w *world) passable(pool *model.Pool, ordinal int64) bool {
	return (pool.Ordered == nil || ordinal >= int64(*pool.Ordered)) &&
		slices.ContainsFunc(w.pods, func(p *model.Pod) bool {
			return p.Pool == pool.Name && int64(p.Ordinal) == ordinal && w.onRevision(p)
		})
}
