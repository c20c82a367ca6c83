package rollout

import (
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// openGuard opens the guard. In a pool whose controller would not wait for more, it only notes the
// claim on the pod.
func (a *step) openGuard(claim model.Claim) {
	e := effect.OpenGuard{Claim: claim.ID, Pod: effect.Target{Pod: claim.Pod, UID: claim.UID}}
	if forced(a.Snapshot, claim) {
		lower, err := a.lowerFor(claim)
		if err != nil {
			a.failAtOnce(effect.GuardOpened{Claim: claim.ID, Err: err})
			return
		}
		e.Lower, e.Expected = lower, a.expectedWith(claim)
		a.effect(e)
		return
	}
	e.NoteOnly = rolls(poolOf(a.Snapshot, claim.Pod))
	e.CheckOthers = !e.NoteOnly
	e.Expected = a.expectedWith(claim)
	if e.CheckOthers {
		e.Expected = a.expectedOfAll(claim.Pod)
		e.Expected.Claim = &claim
	}
	a.effect(e)
}

func (a *step) learnGuardOpened(res effect.GuardOpened) {
	r := a.done(res.Claim)
	switch {
	case r == nil:
		a.noteSuperseded(res.Err)
	case res.Err != nil:
		r.known.Guard = GuardMaybeOpen // the write may have succeeded, and only its answer been lost
		a.refused(r, res.Err, res.Unanswered)
	default:
		r.succeeded()
		r.known.Guard, r.opened = GuardKnownOpen, res.Pod
	}
}

// evict evicts or deletes the pod as it has been since its guard was opened, or since the claim was
// noted on it.
func (a *step) evict(claim model.Claim, r *attempt) {
	e := effect.Evict{Claim: claim.ID, Method: a.Snapshot.Cluster.Spec.Update.Method, Opened: r.opened, Expected: a.expectedOfAll(claim.Pod)}
	e.Expected.Claim = &claim
	if rolls(poolOf(a.Snapshot, claim.Pod)) {
		lower, err := a.lowerFor(claim)
		if err != nil {
			a.failAtOnce(effect.Evicted{Claim: claim.ID, Err: err})
			return
		}
		e.Release, e.Lower = true, lower
	}
	a.effect(e)
}

func (a *step) learnEvicted(res effect.Evicted) {
	a.moved(res.Moved)
	r := a.done(res.Claim)
	switch {
	case r == nil:
		a.noteSuperseded(res.Err)
	case res.Err != nil:
		a.refused(r, res.Err, res.Unanswered)
	default:
		r.succeeded()
		r.removalAccepted(a.now)
	}
}

// refused handles a pod that could not be opened or removed. Unless the pod is gone, this leads
// back to the barrier: observe, decide and read again, never just write again.
func (a *step) refused(r *attempt, err error, unanswered bool) {
	r.unanswered = r.unanswered || unanswered
	switch {
	case errors.Is(err, effect.ErrGone):
		a.out.info("somebody else removed the pod", "error", err)
		r.succeeded()
		r.removalAccepted(a.now)
		return
	case errors.Is(err, effect.ErrSuperseded):
		a.s.superseded = true
	case errors.Is(err, effect.ErrConflict):
		r.conflicts++
		if r.conflicts >= maxConflicts {
			r.abandon(fmt.Sprintf("the pod kept changing, %d times in a row", r.conflicts), model.RuleConflict)
		}
	case errors.Is(err, effect.ErrBudget):
		r.budgets++
		r.refusedFor(a.now, refusalPause, err)
		if r.budgets >= maxRefusals {
			r.abandon(err.Error(), model.RuleForeignBudget)
		}
	case errors.Is(err, effect.ErrBehind):
		r.problem, r.refusedUntil = err.Error(), a.now.Add(behindPause)
		if r.behinds++; r.behinds >= maxBehind {
			r.abandon(err.Error(), model.RuleConflict)
		}
	case errors.Is(err, effect.ErrChanged), errors.Is(err, effect.ErrSetChanged):
		// Decide again on its current state.
	default:
		// One failure means nothing, but a missing permission or somebody's webhook refuses every
		// time.
		r.refusedFor(a.now, min(firstRetry<<min(r.rejections, 10), refusalPause), err)
		if r.rejections++; r.rejections >= maxRejections {
			r.abandon(fmt.Sprintf("it could not be removed, %d times in a row: %v", r.rejections, err), model.RuleVeto)
		}
	}
	r.backToBarrier()
}

// closeGuard closes the guard of a pod that stays, or that has no new decision yet. For a pod
// without a guard it raises the partition above the pod.
func (a *step) closeGuard(claim model.Claim, r *attempt) {
	e := effect.CloseGuard{Claim: claim.ID, Pod: effect.Target{Pod: claim.Pod, UID: claim.UID}, Rewrite: r.unanswered, Expected: a.expectedWith(claim)}
	if pod := podNamed(a.Snapshot, claim.Pod); onlyPartitionKeeps(a.Snapshot, claim) {
		e.Raise = &effect.PartitionRaise{Pool: pod.Pool, Ordinal: pod.Ordinal}
	}
	a.effect(e)
}

func (a *step) learnGuardClosed(res effect.GuardClosed) {
	a.moved(res.Moved)
	r := a.done(res.Claim)
	switch {
	case errors.Is(res.Err, effect.ErrSuperseded):
		a.s.superseded = true
	case r == nil:
	case errors.Is(res.Err, effect.ErrGone), res.Err == nil && res.Pod.Terminating:
		// The pod goes nevertheless. The cache will show it.
		r.removalAccepted(a.now)
		r.giveUp = ""
	case res.Err != nil:
		r.failed(a.now, fmt.Errorf("close the guard: %w", res.Err))
	default:
		r.succeeded()
		r.known.Guard, r.unanswered = GuardKnownClosed, false
	}
}
