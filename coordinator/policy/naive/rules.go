package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "The rules".

// spares says which pods a rule is not asked about.
type spares int

const (
	_ spares = iota // none: it is asked about all
	// corrections means a pod outside the budget: a correction always gets through.
	corrections
	// restartsOnly means the same, unless its action is Replace or Remove.
	restartsOnly
	// correctionsAndNoUpdate means the same as corrections, and a pod that brings no update.
	correctionsAndNoUpdate
	// correctionsNoUpdateAndFailed means the same, and a pod that failed to return itself.
	correctionsNoUpdateAndFailed
	// correctionsAndDead means the same as corrections, and a dead pod.
	correctionsAndDead
)

// rule holds a pod, or all that it does not spare. It names a group if it is about one.
type rule struct {
	name   model.Rule
	spares spares
	whole  func(*world) (group string, holds bool)
	pod    func(*world, *candidate) (group string, holds bool)
	// untilBegun is true if the rule is not asked about a pod that follows in an outage that has
	// begun.
	untilBegun bool
	// forced is true if the rule is asked about a forced pod, too.
	forced bool
	// firm is true if no override helps.
	firm bool
	// lastPlace is true if others between keep the pod from going below the partition.
	lastPlace bool
}

// rules returns the rules in the order in which they are asked. A name that comes twice has parts
// that no override helps against, or that are asked later.
func rules() []rule {
	return []rule{
		{name: model.RuleBadInput, whole: plainly((*world).makesNoSense), forced: true, firm: true},
		{name: model.RuleObserveOnly, whole: plainly((*world).observes), forced: true},
		{name: model.RulePaused, whole: plainly((*world).paused), forced: true},
		{name: model.RulePaused, pod: simply((*world).belowPartition)},
		{name: model.RuleOutsideWindow, untilBegun: true, spares: corrections, whole: plainly((*world).windowClosed)},
		{name: model.RuleFleetFull, untilBegun: true, spares: corrections, whole: plainly((*world).fleetFull), pod: simply((*world).fleetFilled)},
		{name: model.RuleApproval, spares: corrections, pod: simply((*world).lacksApproval)},
		{name: model.RuleCanary, spares: corrections, pod: simply((*world).waitsForCanary)},
		{name: model.RulePoolUnobserved, whole: plainly((*world).poolUnobserved)},
		{name: model.RuleRolloutHalted, spares: correctionsNoUpdateAndFailed, whole: plainly((*world).rolloutHalted)},
		{name: model.RuleViewSplit, untilBegun: true, spares: restartsOnly, whole: plainly((*world).viewSplit)},
		{name: model.RuleNoLeader, untilBegun: true, spares: correctionsAndDead, whole: (*world).noLeader, pod: (*world).noLeaderOnItsPlace},
		{name: model.RuleTwoLeaders, untilBegun: true, spares: corrections, whole: (*world).twoLeaders},
		{name: model.RuleVersionRefused, pod: simply((*world).versionRefused)},
		{name: model.RuleVersionRefused, pod: simply((*world).notAllAtOnce)},
		{name: model.RuleHealth, untilBegun: true, spares: restartsOnly, whole: plainly((*world).unhealthy)},
		{name: model.RuleFailureDetection, untilBegun: true, spares: restartsOnly, whole: plainly((*world).failureDetection)},
		{name: model.RuleOtherOperation, spares: corrections, pod: simply((*world).anotherFirst)},
		{name: model.RuleShutdown, pod: simply((*world).shutdownNotMeant)},
		{name: model.RuleOrderedReady, pod: simply((*world).wouldComeBackOld), firm: true},
		{name: model.RuleOrderedReady, pod: simply((*world).notItsTurn)},
		{name: model.RuleNodeGone, pod: simply((*world).endsOnGoneNode), forced: true},
		{name: model.RuleNoReport, untilBegun: true, spares: corrections, pod: simply((*world).noReport)},
		{name: model.RuleStaleReport, untilBegun: true, spares: corrections, pod: simply((*world).staleReport)},
		{name: model.RuleTerminating, pod: simply((*world).onItsWay), forced: true, firm: true},
		{name: model.RuleClaimed, pod: simply((*world).claimedAlready), forced: true, firm: true},
		{name: model.RuleVeto, pod: simply((*world).vetoed)},
		{name: model.RuleVeto, pod: simply((*world).nobodyCanEmpty), firm: true},
		{name: model.RuleBusy, pod: simply((*world).busy)},
		{name: model.RuleTopology, spares: correctionsAndDead, pod: simply((*world).topologyNotKnown)},
		{name: model.RulePrimary, spares: correctionsAndDead, pod: simply((*world).primaryOnHold)},
		{name: model.RuleVersionOrder, spares: corrections, pod: simply((*world).versionOrder)},
		{name: model.RuleRankOrder, spares: correctionsAndNoUpdate, pod: simply((*world).rankOrder)},
		{name: model.RuleLeaderLast, spares: corrections, pod: simply((*world).leaderLast)},
		{name: model.RuleZoneUnknown, pod: simply((*world).zoneUnknown)},
		{name: model.RuleZoneBudget, pod: simply((*world).zonesAway)},
		{name: model.RulePodBudget, untilBegun: true, pod: simply((*world).podsAwayHold)},
		{name: model.RuleMoving, untilBegun: true, spares: corrections, pod: (*world).beingMoved},
		{name: model.RuleShardBudget, pod: ofKind(model.GroupShard)},
		{name: model.RuleQuorum, pod: ofKind(model.GroupQuorum)},
		{name: model.RuleAcks, pod: ofKind(model.GroupAcks)},
		{name: model.RuleRole, pod: ofKind(model.GroupRole)},
		{name: model.RuleEligible, pod: (*world).noneEligible},
		{name: model.RuleSoleCopy, pod: (*world).soleCopy},
		{name: model.RuleCatchingUp, pod: (*world).catchingUp},
		{name: model.RuleForeignBudget, pod: simply(refusedAs(model.RuleForeignBudget))},
		{name: model.RuleConflict, pod: simply(refusedAs(model.RuleConflict))},
		{name: model.RuleOrderedReady, pod: simply((*world).partitionNotThereYet), firm: true, lastPlace: true},
	}
}

func plainly(holds func(*world) bool) func(*world) (string, bool) {
	return func(w *world) (string, bool) { return "", holds(w) }
}

func simply(holds func(*world, *candidate) bool) func(*world, *candidate) (string, bool) {
	return func(w *world, c *candidate) (string, bool) { return "", holds(w, c) }
}

// spared reports whether the rule is not asked about this pod.
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
		return c.outside && c.action != model.ActionReplace && c.action != model.ActionRemove
	case correctionsAndNoUpdate:
		return c.outside || w.bringsNoUpdate(c)
	case correctionsNoUpdateAndFailed:
		return c.outside || w.bringsNoUpdate(c) || w.failedToReturn(c.Pod)
	}
	return false
}

// firstHold returns the first rule that fails.
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
				w.heldByPartition[c] = r.lastPlace
				return r.name, group, true
			}
		}
	}
	return "", "", false
}

// wholeHolds returns the holds of the cluster: a rule about the cluster is also listed with an
// empty pod while the order is not empty (bad-input and pool-unobserved always), unless an override
// for "*" is in force.
func (w *world) wholeHolds() []model.Hold {
	var holds []model.Hold
	for _, r := range rules() {
		if r.whole == nil || !r.firm && w.overridden(r.name, "*") {
			continue
		}
		if len(w.order) == 0 && r.name != model.RuleBadInput && r.name != model.RulePoolUnobserved {
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
