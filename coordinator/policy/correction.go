package policy

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// A broken pod below the partition is corrected together with the pods that the partition frees
// before it.

// correction returns what goes with a broken pod below the partition that makes nothing unavailable
// by itself: every outdated pod in between. It returns nothing unless all of them may go now,
// together. That is tried once for a pool and plan, because it costs a decision.
func (d *decision) correction(c *candidate, asked []bool) (unit []*candidate, corrected *cluster.Pod) {
	w := &d.waiting[c.PoolPos]
	if !c.outside || w.tried {
		return nil, nil
	}
	if c = d.firstCorrected(c); !c.frees() {
		return nil, nil
	}
	between := d.between(c)
	if len(between) == 0 || d.guardsClosed(between) {
		return nil, nil
	}
	with := map[*cluster.Pod]bool{c.Pod: true}
	for _, p := range between {
		with[p] = !d.isChosen[p.At] // one may go without the partition
	}
	for i := range d.order {
		if o := &d.order[i]; with[o.Pod] {
			if asked[i] {
				return nil, nil // it was held
			}
			unit = append(unit, o)
		}
	}
	sortByOrdinal(unit)
	w.tried = true
	if !d.mayAllGo(unit, c) {
		return nil, nil
	}
	return unit, c.Pod
}

// firstCorrected returns the pod whose correction a pool's controller comes to first. In an
// OrderedReady pool that is the lowest broken one, also for a pod above it that leaves its node
// without moving the partition.
func (d *decision) firstCorrected(c *candidate) *candidate {
	if c.OwnPool.Management != model.ManagementOrderedReady || !c.frees() && !c.atPartition() {
		return c
	}
	for i := range d.order {
		if o := &d.order[i]; o.OwnPool == c.OwnPool && o.isCorrection() && o.Ordinal < c.Ordinal {
			c = o
		}
	}
	return c
}

// isCorrection reports whether the pod is broken, and the partition is to be lowered to it.
func (c *candidate) isCorrection() bool { return c.outside && c.frees() }

// mayAllGo tries this on a decision of its own, which starts from the pods that this one has
// chosen.
func (d *decision) mayAllGo(unit []*candidate, corrected *candidate) bool {
	trial := d.trial()
	trial.corrected = trial.order[corrected.place].Pod
	for _, place := range d.taken {
		trial.take(&trial.order[place], nil)
	}
	trial.needed = cost(unit)
	for _, c := range unit {
		own := &trial.order[c.place]
		if hold, _ := trial.ask(own); hold != nil {
			return false
		}
		trial.take(own, nil)
	}
	return true
}

// correctedBehind returns the lowest of the pods to be corrected whose claims do not count for the
// candidate, because the partition frees them after it.
func (d *decision) correctedBehind(c *candidate, behind []model.Claim) (lowest *cluster.Pod) {
	for i := range d.order {
		o := &d.order[i]
		claimed := slices.ContainsFunc(behind, func(claim model.Claim) bool { return claim.Pod == o.Name })
		if claimed && o.OwnPool == c.OwnPool && o.isCorrection() && (lowest == nil || o.Ordinal < lowest.Ordinal) {
			lowest = o.Pod
		}
	}
	return lowest
}

// goesWith reports whether the pod that is asked about goes with the correction of a pod of an
// OrderedReady pool, and p is that pod or above it. The controller creates none of them before that
// pod is back.
func (d *decision) goesWith(p *cluster.Pod) bool {
	return d.corrected != nil && p.OwnPool == d.corrected.OwnPool && p.OwnPool.Management == model.ManagementOrderedReady && p.Ordinal >= d.corrected.Ordinal
}

// corrects reports whether the partition is to be lowered to the pod for its correction.
func (d *decision) corrects(p *cluster.Pod) bool {
	return slices.ContainsFunc(d.order, func(o candidate) bool { return o.Pod == p && o.isCorrection() })
}
