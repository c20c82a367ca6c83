package rollout

import (
	"fmt"
	"maps"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// A claim may have to end while nobody can undo its drain: no pod has an agent, and pods are
// adopted only when the claim is over; or nothing of the database runs, and the claim blocks a
// correction of its pod. The write that releases the claim then records what it has changed, and
// the first agent that appears undoes it.

// pending is what is known about something that is to be restored or removed outside of claims.
type pending struct {
	retry
	done bool
}

// restorePending undoes what claims have left, and then drops the record.
func (a *step) restorePending() {
	listed := map[string]bool{}
	for _, left := range a.Record.PendingRestores {
		listed[left.Claim] = true
		r := a.s.pendingRestores[left.Claim]
		if r == nil {
			r = &pending{}
			a.s.pendingRestores[left.Claim] = r
		}
		targets := restorers(a.Snapshot, r.errors)
		switch {
		case r.busy:
		case r.done:
			a.out.Edits.ForgetPendingRestores = append(a.out.Edits.ForgetPendingRestores, left.Claim)
			continue
		case isOpen(a.Snapshot, left.Claim):
			r.problem = "that claim is open: it is undone when it ends"
		case draining(a.Snapshot, left.Pod):
			// Undoing it now could also take back what that drain needs.
		case len(targets) == 0:
			r.problem = "no live pod has an agent"
		case a.now.Before(r.retryAt):
			a.out.wake(r.retryAt)
		default:
			r.busy = true
			a.effect(effect.RestorePending{Pending: left, Targets: targets, Expected: a.expected()})
		}
		if r.problem != "" {
			a.out.setting(fmt.Sprintf("the drain of %s under claim %s", left.Pod, left.Claim), r.problem)
		}
	}
	maps.DeleteFunc(a.s.pendingRestores, func(claim string, r *pending) bool { return !r.busy && !listed[claim] })
}

// draining reports whether a pod of that name exists and has a new claim, or nothing may come back
// to the volumes that it has left.
func draining(s model.Snapshot, pod string) bool {
	for _, claim := range s.Cluster.Status.Claims {
		if claim.Pod == pod && needsDrain(claim) && (replaces(claim) || presenceOf(s, claim) == PodPresent) {
			return true
		}
	}
	return false
}

func (a *step) learnPendingRestored(res effect.PendingRestored) {
	a.noteSuperseded(res.Err)
	r := a.s.pendingRestores[res.Pending.Claim]
	if r == nil {
		return
	}
	r.busy = false
	switch {
	case res.Err != nil:
		r.failed(a.now, res.Err)
	case res.Done:
		a.out.info("what a claim has left is undone", "id", res.Pending.Claim, "pod", res.Pending.Pod)
		r.succeeded()
		r.done = true
	default:
		r.succeeded()
		r.retryAt = a.now.Add(pollEvery)
	}
}
