package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Section "The rules".

// spares says of whom a rule is not asked.
type spares int

const (
	_ spares = iota // nobody: it is asked of all
	// corrections: a pod outside the budget; a correction always gets through.
	corrections
	// restartsOnly: the same, unless its action is Replace or Remove.
	restartsOnly
	// correctionsAndNoUpdate: the same as corrections, and a pod that brings no update.
	correctionsAndNoUpdate
	// correctionsNoUpdateAndFailed: the same, and a pod that failed to return itself.
	correctionsNoUpdateAndFailed
	// correctionsAndDead: the same as corrections, and a dead pod.
	correctionsAndDead
)

// rule holds a pod, or all that it does not spare. A group is named where it is about one.
type rule struct {
	name   policy.Rule
	spares spares
	whole  func(*world) (group string, holds bool)
	pod    func(*world, *candidate) (group string, holds bool)
	// untilBegun: not asked of a pod that follows in an outage that has begun.
	untilBegun bool
	// forced: asked of a forced pod, too: that much of it which is whole.
	forced bool
	// firm: no override helps.
	firm bool
	// lastPlace: others between keep it from going below the line.
	lastPlace bool
}

// rules in the order in which they are asked. A name that comes twice has parts
// that no override helps against, or that are asked later.
func rules() []rule {
	return []rule{
		{name: policy.BadInput, whole: plainly((*world).makesNoSense), forced: true, firm: true},
		{name: policy.ObserveOnly, whole: plainly((*world).observes), forced: true},
		{name: policy.Paused, whole: plainly((*world).paused), forced: true},
		{name: policy.Paused, pod: simply((*world).belowTheLine)},
		{name: policy.OutsideWindow, untilBegun: true, spares: corrections, whole: plainly((*world).windowClosed)},
		{name: policy.FleetFull, untilBegun: true, spares: corrections, whole: plainly((*world).fleetFull), pod: simply((*world).fleetFilled)},
		{name: policy.NeedsApproval, spares: corrections, pod: simply((*world).lacksApproval)},
		{name: policy.CanaryFirst, spares: corrections, pod: simply((*world).waitsForCanary)},
		{name: policy.PoolUnobserved, whole: plainly((*world).poolUnobserved)},
		{name: policy.LineStopped, spares: correctionsNoUpdateAndFailed, whole: plainly((*world).lineStopped)},
		{name: policy.ViewSplit, untilBegun: true, spares: restartsOnly, whole: plainly((*world).viewSplit)},
		{name: policy.NoLeader, untilBegun: true, spares: correctionsAndDead, whole: (*world).noLeader, pod: (*world).noLeaderOnItsPlace},
		{name: policy.TwoLeaders, untilBegun: true, spares: corrections, whole: (*world).twoLeaders},
		{name: policy.VersionRefused, pod: simply((*world).versionRefused)},
		{name: policy.VersionRefused, pod: simply((*world).notAllAtOnce)},
		{name: policy.Unhealthy, untilBegun: true, spares: restartsOnly, whole: plainly((*world).unhealthy)},
		{name: policy.Settling, untilBegun: true, spares: restartsOnly, whole: plainly((*world).settling)},
		{name: policy.OtherOperation, spares: corrections, pod: simply((*world).anotherFirst)},
		{name: policy.Shutdown, pod: simply((*world).shutdownNotMeant)},
		{name: policy.InOrder, pod: simply((*world).wouldComeBackOld), firm: true},
		{name: policy.InOrder, pod: simply((*world).notItsTurn)},
		{name: policy.OnDeadNode, pod: simply((*world).endsOnGoneNode), forced: true},
		{name: policy.NoReport, untilBegun: true, spares: corrections, pod: simply((*world).noReport)},
		{name: policy.StaleReport, untilBegun: true, spares: corrections, pod: simply((*world).staleReport)},
		{name: policy.OnItsWay, pod: simply((*world).onItsWay), forced: true, firm: true},
		{name: policy.Claimed, pod: simply((*world).claimedAlready), forced: true, firm: true},
		{name: policy.Vetoed, pod: simply((*world).vetoed)},
		{name: policy.Vetoed, pod: simply((*world).nobodyCanEmpty), firm: true},
		{name: policy.Busy, pod: simply((*world).busy)},
		{name: policy.VersionOrder, spares: corrections, pod: simply((*world).versionOrder)},
		{name: policy.RankOrder, spares: correctionsAndNoUpdate, pod: simply((*world).rankOrder)},
		{name: policy.LeaderLast, spares: corrections, pod: simply((*world).leaderLast)},
		{name: policy.ZoneUnknown, pod: simply((*world).zoneUnknown)},
		{name: policy.ZonesAway, pod: simply((*world).zonesAway)},
		{name: policy.PodsAway, untilBegun: true, pod: simply((*world).podsAwayHold)},
		{name: policy.BeingMoved, untilBegun: true, spares: corrections, pod: (*world).beingMoved},
		{name: policy.ShardsAway, pod: ofKind(policy.Shard)},
		{name: policy.QuorumLost, pod: ofKind(policy.Quorum)},
		{name: policy.AcksLost, pod: ofKind(policy.Acks)},
		{name: policy.RoleLost, pod: ofKind(policy.Role)},
		{name: policy.NoneEligible, pod: (*world).noneEligible},
		{name: policy.SoleCopy, pod: (*world).soleCopy},
		{name: policy.CatchingUp, pod: (*world).catchingUp},
		{name: policy.ForeignBudget, pod: simply(refusedAs(policy.ForeignBudget))},
		{name: policy.Unstable, pod: simply(refusedAs(policy.Unstable))},
		{name: policy.InOrder, pod: simply((*world).lineNotThereYet), firm: true, lastPlace: true},
	}
}

func plainly(holds func(*world) bool) func(*world) (string, bool) {
	return func(w *world) (string, bool) { return "", holds(w) }
}

func simply(holds func(*world, *candidate) bool) func(*world, *candidate) (string, bool) {
	return func(w *world, c *candidate) (string, bool) { return "", holds(w, c) }
}

// spared: the rule is not asked of this pod.
func (w *world) spared(r *rule, c *candidate) bool {
	if w.isForced(c) {
		return !r.forced
	}
	if r.untilBegun && w.follows(c) {
		return true
	}
	switch r.spares {
	case corrections:
		return c.outside
	case correctionsAndDead:
		return c.outside || c.dead
	case restartsOnly:
		return c.outside && c.action != policy.Replace && c.action != policy.Remove
	case correctionsAndNoUpdate:
		return c.outside || w.bringsNoUpdate(c)
	case correctionsNoUpdateAndFailed:
		return c.outside || w.bringsNoUpdate(c) || w.failedToReturn(c.Pod)
	}
	return false
}

// firstHold is the first rule that fails.
func (w *world) firstHold(c *candidate) (name policy.Rule, group string, held bool) {
	for _, r := range rules() {
		if w.spared(&r, c) || !r.firm && w.overridden(r.name, c.Name) {
			continue
		}
		if r.whole != nil {
			if group, holds := r.whole(w); holds {
				return r.name, group, true
			}
		}
		if r.pod != nil {
			if group, holds := r.pod(w, c); holds {
				w.heldByLine[c] = r.lastPlace
				return r.name, group, true
			}
		}
	}
	return "", "", false
}

// wholeHolds: a rule about the cluster is listed with an empty pod, too, while the
// order is not empty (bad-input and pool-unobserved always), unless an override
// for "*" is in force.
func (w *world) wholeHolds() []policy.Hold {
	var holds []policy.Hold
	for _, r := range rules() {
		if r.whole == nil || !r.firm && w.overridden(r.name, "*") {
			continue
		}
		if len(w.order) == 0 && r.name != policy.BadInput && r.name != policy.PoolUnobserved {
			continue
		}
		if r.untilBegun && len(w.order) > 0 && !slices.ContainsFunc(w.order, func(c *candidate) bool { return !w.follows(c) }) {
			continue
		}
		if group, holds1 := r.whole(w); holds1 {
			holds = append(holds, policy.Hold{Rule: r.name, Group: group})
		}
	}
	return holds
}
