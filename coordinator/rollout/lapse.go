package rollout

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A drain that was acknowledged need not last: somebody else may hand the pod its duties again, its
// agent may have restarted, data may be put back on it. So the agent is asked once more with each
// look at the barrier, and what it says must be so in the database then; and nothing that was seen
// since may contradict it.

// lasting is whether a drain lasts.
type lasting struct {
	// confirming is since when the agent looks whether the pod is still drained. It is zero if it
	// has said so, or was not asked. askedAt is when it was asked last.
	confirming, askedAt time.Time
	// lapses counts the drains that did not last; led are the groups that the pod led
	// when it was looked at last.
	lapses int
	led    map[string]bool
}

// lookedAt reports whether the pod was looked at, is to go, and has not been sent away.
func (r *attempt) lookedAt() bool {
	return !r.observedAt.IsZero() && r.known.Guard != RemovalAccepted && r.giveUp == ""
}

// forgetDrain notes that the pod is not drained any more.
func (r *attempt) forgetDrain(why string) {
	r.known.Drained, r.confirming = NotDrained, time.Time{}
	r.backToBarrier()
	r.problem = "it is no longer drained: " + why
}

// lapse is unprepare for a drain that did not last, which must end some time.
func (r *attempt) lapse(why string) {
	r.forgetDrain(why)
	r.drainBegan = time.Time{}
	if r.lapses++; r.lapses > maxLapses {
		r.abandon(fmt.Sprintf("it was drained %d times, and that never lasted: %s", r.lapses, why), model.RuleVeto)
	}
}

// lastingDrain reports whether a claim's pod may go only while its drain lasts. What was overdue
// goes without, as its spec says, what is broken by now has nothing to give, and of a pod that was
// written down as empty only data matters: it must go in the end, whatever is handed to it.
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

// lookAgain compares what is seen of a pod that was looked at with what was seen then.
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

// drainLost says what the pod's own fresh report says of its drain, if that is not that it is
// there.
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

// drainMissing reports whether the pod's own fresh report says that it is being drained, so a look
// is to be waited for that began after the one that was confirmed.
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
