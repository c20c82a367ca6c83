package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
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
	name   model.Rule
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
		{name: model.BadInput, whole: plainly((*world).makesNoSense), forced: true, firm: true},
		{name: model.ObserveOnly, whole: plainly((*world).observes), forced: true},
		{name: model.Paused, whole: plainly((*world).paused), forced: true},
		{name: model.Paused, pod: simply((*world).belowTheLine)},
		{name: model.OutsideWindow, untilBegun: true, spares: corrections, whole: plainly((*world).windowClosed)},
		{name: model.FleetFull, untilBegun: true, spares: corrections, whole: plainly((*world).fleetFull), pod: simply((*world).fleetFilled)},
		{name: model.NeedsApproval, spares: corrections, pod: simply((*world).lacksApproval)},
		{name: model.CanaryFirst, spares: corrections, pod: simply((*world).waitsForCanary)},
		{name: model.PoolUnobserved, whole: plainly((*world).poolUnobserved)},
		{name: model.LineStopped, spares: correctionsNoUpdateAndFailed, whole: plainly((*world).lineStopped)},
		{name: model.ViewSplit, untilBegun: true, spares: restartsOnly, whole: plainly((*world).viewSplit)},
		{name: model.NoLeader, untilBegun: true, spares: correctionsAndDead, whole: (*world).noLeader, pod: (*world).noLeaderOnItsPlace},
		{name: model.TwoLeaders, untilBegun: true, spares: corrections, whole: (*world).twoLeaders},
		{name: model.VersionRefused, pod: simply((*world).versionRefused)},
		{name: model.VersionRefused, pod: simply((*world).notAllAtOnce)},
		{name: model.Unhealthy, untilBegun: true, spares: restartsOnly, whole: plainly((*world).unhealthy)},
		{name: model.Settling, untilBegun: true, spares: restartsOnly, whole: plainly((*world).settling)},
		{name: model.OtherOperation, spares: corrections, pod: simply((*world).anotherFirst)},
		{name: model.Shutdown, pod: simply((*world).shutdownNotMeant)},
		{name: model.InOrder, pod: simply((*world).wouldComeBackOld), firm: true},
		{name: model.InOrder, pod: simply((*world).notItsTurn)},
		{name: model.OnDeadNode, pod: simply((*world).endsOnGoneNode), forced: true},
		{name: model.NoReport, untilBegun: true, spares: corrections, pod: simply((*world).noReport)},
		{name: model.StaleReport, untilBegun: true, spares: corrections, pod: simply((*world).staleReport)},
		{name: model.OnItsWay, pod: simply((*world).onItsWay), forced: true, firm: true},
		{name: model.Claimed, pod: simply((*world).claimedAlready), forced: true, firm: true},
		{name: model.Vetoed, pod: simply((*world).vetoed)},
		{name: model.Vetoed, pod: simply((*world).nobodyCanEmpty), firm: true},
		{name: model.Busy, pod: simply((*world).busy)},
		{name: model.VersionOrder, spares: corrections, pod: simply((*world).versionOrder)},
		{name: model.RankOrder, spares: correctionsAndNoUpdate, pod: simply((*world).rankOrder)},
		{name: model.LeaderLast, spares: corrections, pod: simply((*world).leaderLast)},
		{name: model.ZoneUnknown, pod: simply((*world).zoneUnknown)},
		{name: model.ZonesAway, pod: simply((*world).zonesAway)},
		{name: model.PodsAway, untilBegun: true, pod: simply((*world).podsAwayHold)},
		{name: model.BeingMoved, untilBegun: true, spares: corrections, pod: (*world).beingMoved},
		{name: model.ShardsAway, pod: ofKind(model.Shard)},
		{name: model.QuorumLost, pod: ofKind(model.Quorum)},
		{name: model.AcksLost, pod: ofKind(model.Acks)},
		{name: model.RoleLost, pod: ofKind(model.Role)},
		{name: model.NoneEligible, pod: (*world).noneEligible},
		{name: model.SoleCopy, pod: (*world).soleCopy},
		{name: model.CatchingUp, pod: (*world).catchingUp},
		{name: model.ForeignBudget, pod: simply(refusedAs(model.ForeignBudget))},
		{name: model.Unstable, pod: simply(refusedAs(model.Unstable))},
		{name: model.InOrder, pod: simply((*world).lineNotThereYet), firm: true, lastPlace: true},
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
		return c.outside && c.action != model.Replace && c.action != model.Remove
	case correctionsAndNoUpdate:
		return c.outside || w.bringsNoUpdate(c)
	case correctionsNoUpdateAndFailed:
		return c.outside || w.bringsNoUpdate(c) || w.failedToReturn(c.Pod)
	}
	return false
}

// firstHold is the first rule that fails.
func (w *world) firstHold(c *candidate) (name model.Rule, group string, held bool) {
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
func (w *world) wholeHolds() []model.Hold {
	var holds []model.Hold
	for _, r := range rules() {
		if r.whole == nil || !r.firm && w.overridden(r.name, "*") {
			continue
		}
		if len(w.order) == 0 && r.name != model.BadInput && r.name != model.PoolUnobserved {
			continue
		}
		if r.untilBegun && len(w.order) > 0 && !slices.ContainsFunc(w.order, func(c *candidate) bool { return !w.follows(c) }) {
			continue
		}
		if group, holds1 := r.whole(w); holds1 {
			holds = append(holds, model.Hold{Rule: r.name, Group: group})
		}
	}
	return holds
}
