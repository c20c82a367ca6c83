package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// restore asks an agent to undo the drain. While the pod exists it asks only the pod's own agent;
// another agent may undo it once no agent of the pod can still be writing.
func (a *step) restore(claim model.Claim, r *attempt) {
	here := presenceOf(a.Snapshot, claim) == PodPresent
	if till := r.othersUnansweredUntil; !here && !till.IsZero() && !a.now.After(till) { // these agents outlive the pod
		r.busy = false
		r.succeeded()
		r.problem, r.retryAt = "another pod's agent may still be emptying it", till.Add(1)
		a.out.wake(a.now)
		return
	}
	r.makesRoom = !here && a.judgeReturn(claim).superseded && len(living(a.Snapshot)) == 0
	a.effect(effect.Restore{Claim: claim.ID, Targets: a.undoers(claim, here, r.notAfter), Undo: claim.Undo, FindAgents: withoutAgents(a.Snapshot)})
}

func (a *step) learnRestored(res effect.Restored) {
	a.noteSuperseded(res.Err)
	r, claim := a.done(res.Claim), a.open(res.Claim)
	switch {
	case r == nil || claim == nil:
	case res.Answered && res.Done:
		r.succeeded()
		r.known.Restored = true
	case res.Answered:
		r.succeeded()
		r.retryAt = a.now.Add(pollEvery)
	default:
		r.failed(a.now, res.Err)
		// Nothing was changed, so an agent that does not answer blocks nothing. A cluster setting
		// has a record of its own, which stays.
		here := presenceOf(a.Snapshot, *claim) == PodPresent
		shares := settingOfClaim(&a.Record, claim.ID) != nil
		r.known.Restored = here && len(claim.Undo) == 0 && !shares
		r.known.UndoDeferred = r.makesRoom || res.Nobody && (r.settingReleased || !shares)
	}
}

// undoers returns the agents that may undo a claim's drain, best first: that of the pod or of the
// recreated pod, then other healthy ones.
func (a *step) undoers(claim model.Claim, here bool, notAfter time.Time) []effect.Target {
	const most = 3
	var first, others []effect.Target
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		if !pod.Agent || pod.UID == "" || pod.Phase == model.PodPhaseTerminating || pod.Phase == model.PodPhaseMissing {
			continue
		}
		target := effect.Target{Pod: pod.Name, UID: pod.UID}
		switch {
		case pod.Name == claim.Pod:
			first = append(first, target)
		case pod.Phase == model.PodPhaseReady && pod.Report != nil && pod.Report.Member == model.MembershipLive:
			others = append(others, target)
		}
	}
	if here && !a.now.After(notAfter) {
		return first
	}
	all := append(first, others...)
	return all[:min(most, len(all))]
}
