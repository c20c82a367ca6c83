package rollout

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// notice updates what is known about a claim with what is seen of it. It returns what the claim
// waits for, and whether a claim that cannot be given up must not be carried out now.
func (a *step) notice(claim model.Claim, r *attempt, v sight) (why string, stopped bool) {
	if committed(claim) && r.giveUp != "" {
		r.cancelGiveUp(a.now)
	}
	switch {
	case v.where == PodPresent:
		r.changeDrainer(v.byOthers)
		why, stopped = a.noticeHere(claim, r, v)
		r.changeWay(v.restarts)
		r.reappeared()
		a.lookAgain(claim, r)
		a.observeHandoff(claim, r)
	case v.where == PodTerminating:
		r.podGoing(a.now)
		why = "its containers stop"
	case v.where == PodGone && r.known.GoneConfirmed: // until then it may only be hidden
		r.podGoing(a.now)
	}
	if r.known.Setting.Name != "" && !v.listed && r.askedIn != a.s.restored {
		// The agent may have read what a drain had written, which is not the value to save.
		r.known.DrainPlanned = false
	}
	if !v.vanished {
		r.known.SetGone = false
	}
	return why, stopped
}

// noticeHere finds out whether the claim on a pod that still exists is to be carried out.
func (a *step) noticeHere(claim model.Claim, r *attempt, v sight) (why string, stopped bool) {
	if r.known.Guard == RemovalAccepted && a.now.Sub(r.sentAt) > removalTimeout {
		// The removal was accepted, and yet the pod still exists: observe it again from the start.
		r.known.Guard = GuardMaybeOpen
		r.backToBarrier()
	}
	if r.giveUp != "" {
		return r.giveUp, false
	}
	if r.known.Guard == RemovalAccepted {
		return "the removal was accepted", false
	}
	going := judgeGoing(a.Snapshot, claim)
	hopeless, passes := a.hopeless(a.Snapshot, claim)
	if replaces(claim) && hopeless == "" && r.known.Drained == NotDrained {
		r.notHeld()
	}
	if why = a.suspends(claim, going, hopeless, passes); why != "" {
		if !committed(claim) {
			r.abandon(why, "")
		}
		return why, committed(claim)
	}
	switch {
	case hopeless != "":
		r.held(a.now, hopeless)
		return hopeless, false
	case r.known.Drained == DrainNotNeeded && going.hold == nil && !going.unasked:
		r.forgetDrain("it is well again")
	case needsDrain(claim) && r.known.Drained == NotDrained && going.unasked:
		a.out.warn("the pod is broken now, going on without a drain", "id", claim.ID, "pod", claim.Pod, "problem", r.problem)
		r.succeeded()
		r.known.Drained = DrainNotNeeded
	case needsDrain(claim) && r.known.Drained == NotDrained && a.timedOut(claim, r):
		if mayProceed(a.Snapshot, claim) {
			a.out.warn("drain timed out, going on without it", "id", claim.ID, "pod", claim.Pod)
			r.known.Drained = DrainOverdue
		}
		return "drain timed out: " + r.problem, false
	}
	return "", false
}

// suspends says why a claim on a pod that exists is not to be carried out any more, or, if it
// cannot be given up, not now. It returns an empty reason if the claim is to be carried out.
func (a *step) suspends(claim model.Claim, going going, hopeless string, passes bool) string {
	switch {
	case !a.Object.DeletionTimestamp.IsZero():
		return "the DatabaseCluster is being deleted"
	case !going.wanted:
		return going.why
	case going.hold != nil && endsClaim(going.hold.Rule):
		return fmt.Sprintf("%s: %s", going.hold.Rule, going.hold.Reason)
	case noLongerForced(a.Snapshot, claim):
		return "it was claimed by force, and is forced no more"
	case hopeless != "" && !passes:
		return hopeless
	}
	return ""
}

// endsClaim reports whether a hold is an order to stop rather than something that passes.
func endsClaim(rule model.Rule) bool {
	return rule == model.RulePaused || rule == model.RuleObserveOnly || rule == model.RuleBadInput
}
