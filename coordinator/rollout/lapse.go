package rollout

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// An acknowledged drain may not last: somebody else may give the pod its duties back, its agent may
// restart, data may be moved back to it. So the agent is asked again with each observation at the
// barrier. Its answer must be true of the database then, and nothing observed later may contradict
// it.

// lasting is whether a drain lasts.
type lasting struct {
	// confirming is since when the agent has been checking whether the pod is still drained. It is
	// zero if the agent has confirmed that, or was not asked. askedAt is when it was asked last.
	confirming, askedAt time.Time
	// lapses counts the drains that did not last. led are the groups that the pod led when it was
	// last observed.
	lapses int
	led    map[string]bool
}

// lookedAt reports whether the pod was observed, is to go, and has not been removed.
func (r *attempt) lookedAt() bool {
	return !r.observedAt.IsZero() && r.known.Guard != RemovalAccepted && r.giveUp == ""
}

// forgetDrain notes that the pod is not drained any more.
func (r *attempt) forgetDrain(why string) {
	r.known.Drained, r.confirming = NotDrained, time.Time{}
	r.backToBarrier()
	r.problem = "it is no longer drained: " + why
}

// lapse is forgetDrain for a drain that did not last. It ends the claim after too many of them.
func (r *attempt) lapse(why string) {
	r.forgetDrain(why)
	r.drainBegan = time.Time{}
	if r.lapses++; r.lapses > maxLapses {
		r.abandon(fmt.Sprintf("it was drained %d times, and that never lasted: %s", r.lapses, why), model.RuleVeto)
	}
}

// lastingDrain reports whether a claim's pod may go only while its drain lasts. After a timeout the
// pod goes without a drain, as its spec says. A pod that is broken now has nothing to hand over.
// For a pod that is recorded as empty only data matters: it must go in the end, whatever duties it
// is given.
func (a *step) lastingDrain(claim model.Claim, r *attempt) bool {
	switch {
	case !needsDrain(claim) || r.known.Drained == DrainOverdue || r.known.Drained == DrainNotNeeded || judgeGoing(a.Snapshot, claim).unasked:
		return false
	case committed(claim):
		if r.restarts {
			return false // it keeps what it has
		}
		pod := podNamed(a.Snapshot, claim.Pod)
		return notEmpty(a.Snapshot, claim, a.MemberNames, pod != nil && a.emptiedByOthers(pod)) != ""
	}
	return true
}

// lookAgain compares what is seen of an observed pod with what was seen then.
func (a *step) lookAgain(claim model.Claim, r *attempt) {
	if r.known.Drained == NotDrained || r.known.Drained == DrainedByOther || !r.lookedAt() || !a.lastingDrain(claim, r) {
		return
	}
	if why := drainLost(a.Snapshot, claim); why != "" {
		r.lapse(why)
		return
	}
	if drainMissing(a.Snapshot, claim) {
		r.backToBarrier()
		return
	}
	leads := groupsLedBy(a.Snapshot, claim.Pod)
	if r.led == nil {
		r.led = leads
		return
	}
	for _, group := range a.Snapshot.Groups {
		if leads[group.ID] && !r.led[group.ID] {
			r.lapse("it has been made the leader of " + group.ID)
			return
		}
	}
}

// drainLost returns why the pod's own fresh report contradicts its drain. It returns an empty
// reason if it does not.
func drainLost(s model.Snapshot, claim model.Claim) string {
	r := freshReport(s, claim)
	switch {
	case r == nil || r.Drain == model.DrainDone || r.Drain == model.DrainRunning:
		return ""
	case r.DrainDetail != "":
		return fmt.Sprintf("its agent says %s: %s", drainStateOr(r.Drain), r.DrainDetail)
	default:
		return fmt.Sprintf("its agent says %s", drainStateOr(r.Drain))
	}
}

// drainMissing reports whether the pod's own fresh report says that the drain is running. Then an
// observation must be awaited that began after the confirmed one.
func drainMissing(s model.Snapshot, claim model.Claim) bool {
	r := freshReport(s, claim)
	return r != nil && r.Drain == model.DrainRunning
}

func drainStateOr(d model.DrainState) model.DrainState {
	if d == "" {
		return model.DrainNone
	}
	return d
}
