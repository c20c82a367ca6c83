package policy

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// These rules are about which pod goes first.

func (d *decision) orderedReady(c *candidate) *finding {
	if f := d.wouldReturnOutdated(c); f != nil {
		return f
	}
	if c.OwnPool.Management != model.ManagementOrderedReady {
		return nil
	}
	var other *cluster.Pod
	for _, p := range slices.Backward(d.turns[c.PoolPos]) { // the lowest, or the one chosen last
		// The controller comes to no other pod while this one is broken, and does not wait for a
		// lower one that is Ready. A correction waits for lower ones only while they are not Ready,
		// or are to be corrected themselves.
		stands := p.Phase == model.PodPhaseReady && !d.isChosen[p.At] && d.x.FailureReason(p) == ""
		first := (c.broken || d.curing || d.x.NoAgents && d.late(c.Pod)) && (p.Ordinal > c.Ordinal || stands)
		// Two pods that are unavailable by themselves would wait for each other.
		both := c.Unavailable && p.Phase == model.PodPhaseReady && !d.byHand(p)
		// Nor does the controller come to the pods above one that is to be corrected before that
		// has gone. A serving pod is recreated only if all of them go, too.
		with := d.goesWith(p) && (c.outside || p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseTerminating || cluster.IsOutdated(p))
		if p != c.Pod && !d.goesInUnit(p, c) && !first && !both && !with {
			other = p
			break
		}
	}
	if other == nil {
		return nil
	}
	return found(fmt.Sprintf("pool %s is OrderedReady and %s is unavailable (%s)", c.OwnPool.Name, other.Name, other.Unavailability()), cluster.OrAdvice(other.Name+" back"+d.orForce(c), other)).forOthers()
}

// byHand reports whether the pod is claimed or chosen.
func (d *decision) byHand(p *cluster.Pod) bool {
	return p.Claim != nil || p.At != cluster.Unseen && d.isChosen[p.At]
}

// goesInUnit reports whether the pod is of the candidate's unit, all of which may be unavailable at
// once. But the controller does not recreate the candidate above a pod that is not Ready and stays
// as it is.
func (d *decision) goesInUnit(p *cluster.Pod, c *candidate) bool {
	stays := p.Ordinal < c.Ordinal && p.Phase != model.PodPhaseReady && !d.byHand(p)
	return p.OwnUnit == c.OwnUnit && c.OwnUnit != cluster.Unit{} && (!stays || c.action == model.ActionRemove || d.x.Outage())
}

func (d *decision) versionOrder(c *candidate) *finding {
	if c.OwnReport == nil || len(c.OwnReport.After) == 0 || !cluster.IsOutdated(c.Pod) || c.reason == model.ReasonScaleDown {
		return nil
	}
	for _, name := range slices.Sorted(slices.Values(c.OwnReport.After)) {
		at, known := d.x.ByName[name]
		switch {
		case name == c.Name:
		case !known:
			return found(fmt.Sprintf("%s must carry the new version first, and is not known", name), name+" known")
		case d.waitsFor(&d.x.Pods[at], c) && c.prepare == model.PrepareHandoff && !d.drained:
			// One of the two must go first. It is rechecked after its handoff.
		case d.x.Pods[at].Revision != d.x.Pods[at].OwnPool.Revision || !d.x.Pods[at].Live:
			f := found(fmt.Sprintf("%s must carry the new version first%s", name, d.thenInPlace(c)), name+" up to date and live")
			if cluster.GoesForGood(&d.x.Pods[at]) {
				f = found(name+", which is to be removed, must have gone first", name+" gone")
			}
			f.others = d.knowsAll(c.OwnReport.After)
			return f
		}
	}
	return nil
}

// knowsAll reports whether the snapshot has all of those pods.
func (d *decision) knowsAll(names []string) bool {
	for _, name := range names {
		if _, known := d.x.ByName[name]; !known {
			return false
		}
	}
	return true
}

// rankOrder decides which pods get a new version first. A pod that is scaled down, or leaves
// unchanged, brings none, and would wait for those that hold the others. A pod that its controller
// may update at any time is counted already: pods that stay because there is no room wait for it,
// so it waits only for pods that are unavailable themselves. A requested restart waits for no
// rollout.
func (d *decision) rankOrder(c *candidate) *finding {
	low := d.lowest
	switch {
	case c.Serves:
		low = d.lowAway
	case !cluster.IsOutdated(c.Pod):
		low = d.lowSame
	}
	if low == nil || low.Rank >= c.Rank || d.x.Outage() || d.curing {
		return nil
	}
	why := fmt.Sprintf("%s has the lower rank %d and is outdated or unavailable; its own rank is %d", low.Name, low.Rank, c.Rank)
	switch {
	case low.OwnReport == nil:
		why = fmt.Sprintf("%s is unavailable (%s) and might be of a lower rank: without a report nobody knows; its own rank is %d", low.Name, low.Unavailability(), c.Rank)
	case low.OwnReport.Member != model.MembershipLive && low.Rank == 0:
		why = fmt.Sprintf("%s is unavailable (%s) and might be of a lower rank: only a live member tells; its own rank is %d", low.Name, low.Unavailability(), c.Rank)
	}
	return found(why, "all pods of a lower rank up to date and back").forOthers()
}

// holdsRanks reports whether pods of a higher rank wait for the candidate, unless it waits for its
// pool itself.
func (d *decision) holdsRanks(c *candidate) bool { return c.rolls() && d.wouldReturnOutdated(c) == nil }

func lower(lowest **cluster.Pod, p *cluster.Pod) {
	if *lowest == nil || p.Rank < (*lowest).Rank {
		*lowest = p
	}
}

// lowerAll updates the lowest ranks for a pod that is unavailable or chosen.
func (d *decision) lowerAll(p *cluster.Pod) {
	lower(&d.lowest, p)
	lower(&d.lowAway, p)
	lower(&d.lowSame, p)
}

// leaderLast waits until all pods that come earlier are updated, and all are back. A pod that only
// lacks its agent is updated, and may wait for a person for as long as that takes. For a pod that
// its controller may update at any time see rankOrder.
func (d *decision) leaderLast(c *candidate) *finding {
	if !c.Last || c.OwnPool.Shutdown || d.x.Outage() || d.curing {
		return nil
	}
	for i := range d.order[:c.place] {
		if earlier := &d.order[i]; d.lastWaitsFor(c, earlier) && !d.behindAnotherLast(earlier, c) {
			return found(fmt.Sprintf("it holds %s and goes last: %s before it, such as %s%s",
				rolesText(c.OwnReport), counted(c.place, "pod goes", "pods go"), earlier.Name, d.thenInPlace(c)), "everybody else up to date and back").forOthers()
		}
	}
	for _, p := range slices.Concat(d.ledger.Unavailable, d.ledger.Chosen) {
		waits := d.waitsFor(p, c) && (d.byHand(p) && p.Phase == model.PodPhaseReady && c.frees() || d.corrects(p))
		if p != c.Pod && !waits && !d.goesWith(p) {
			return found(fmt.Sprintf("it holds %s and goes last: %s is unavailable (%s)%s", rolesText(c.OwnReport), p.Name, p.Unavailability(), d.thenInPlace(c)),
				p.Name+" back").forOthers()
		}
	}
	return nil
}

// lastWaitsFor reports whether the candidate, which goes last, waits for one before it in the
// order.
func (d *decision) lastWaitsFor(c, earlier *candidate) bool {
	switch {
	case d.waitsFor(earlier.Pod, c) || waitsForOperation(earlier, c) || d.waitsForRevision(earlier, c):
		return false // otherwise neither could ever go
	case d.goesWith(earlier.Pod):
		return false // neither could be recreated without the other
	case cluster.IsOutdated(earlier.Pod) && (!cluster.IsOutdated(c.Pod) || c.bringsNoUpdate() || c.leaves && d.waitsForCanary(earlier)):
		return false // it is no part of that rollout, or leaves regardless of it
	case c.Serves && !earlier.Unavailable:
		return false
	}
	return c.reason == model.ReasonAdopt || earlier.reason != model.ReasonAdopt || !d.asksToAdopt(earlier)
}

// behindAnotherLast reports whether the partition of its pool frees o only after another pod that
// goes last, which comes after c and waits for it. All three would wait for each other, so c does
// not wait for o.
func (d *decision) behindAnotherLast(o, c *candidate) bool {
	if !o.frees() && d.wouldReturnOutdated(o) == nil {
		return false // the partition does not keep it
	}
	return slices.ContainsFunc(d.lasts, func(place int) bool {
		l := &d.order[place]
		above := l.OwnPool == o.OwnPool && l.Ordinal > o.Ordinal && l.atPartition()
		waits := place > c.place && l.OwnReport.Fresh && d.over.of(model.RuleLeaderLast, l.Name) == nil
		return above && waits && d.lastWaitsFor(l, c)
	})
}

// waitsForRevision reports whether o would come back on the old revision until all of the pool, and
// so c, is on the new one.
func (d *decision) waitsForRevision(o, c *candidate) bool {
	return o.OwnPool == c.OwnPool && cluster.IsOutdated(c.Pod) && d.wouldReturnOutdated(o) != nil
}

// waitsForCanary reports whether a person or a clock decides when o continues.
func (d *decision) waitsForCanary(o *candidate) bool { return !o.outside && d.canaryFirst(o) != nil }

// waitsForOperation reports whether o may go only after the scale-down for which c goes.
func waitsForOperation(o, c *candidate) bool {
	return c.reason == model.ReasonScaleDown && o.OwnPool == c.OwnPool && o.OwnPool.Operation != model.OperationNone &&
		o.reason != model.ReasonScaleDown && o.reason != model.ReasonReplacement
}
