package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// attempt is what this coordinator knows about one claim beyond what is written in it.
type attempt struct {
	retry
	known Known
	// observedAt is when the pod and its witnesses were last observed completely. It is zero if
	// they were not.
	observedAt time.Time
	// opened is the pod as it was when its guard was opened. sentAt is when its removal was
	// accepted.
	opened effect.PodSeen
	sentAt time.Time

	orders
	refusals
	ending
	holding
	lasting
	onBehalf
	absence
	handover handover

	// restarts is true if the pod is restarted before it can be replaced.
	restarts bool
	// askedIn is how many settings had been restored when the agent was asked what its drain will
	// change. settingBusyUntil is the time until which another drain had to write the same setting
	// first. settingReleased is true if the claim no longer needs the setting.
	askedIn          int
	settingBusyUntil time.Time
	settingReleased  bool
	// drainBegan is when the agent was first asked to drain the pod, or another agent to hand over
	// for it.
	drainBegan time.Time
	// inherited is true if a predecessor made the claim.
	inherited bool
	// takenAt is when this coordinator took the claim over. The time in the claim comes from a
	// clock that may be another coordinator's, or that may have been set since.
	takenAt    time.Time
	lastLogged string
}

// orders are the orders that an agent may still be carrying out.
type orders struct {
	// notAfter is the time after which no agent of the claimed pod starts a write. unansweredUntil
	// is the same for orders without an answer.
	notAfter, unansweredUntil time.Time
	// othersUnansweredUntil is the time after which no other pod's agent starts a write for the
	// claimed pod on an order that it has not answered.
	othersUnansweredUntil time.Time
}

// refusals are consecutive removals that were refused.
type refusals struct {
	// unanswered is true if a write that opens the guard or lowers the partition may still be
	// carried out.
	unanswered bool
	// refusedUntil is when a refused removal may be tried again, refusal why it was refused.
	refusedUntil time.Time
	refusal      string
	conflicts    int
	budgets      int
	rejections   int
	// behinds counts how often the cache was behind when the pod was about to go.
	behinds int
}

// ending is why and how a claim ends that is not carried out.
type ending struct {
	// giveUp is why the claim is not carried out. It is final while the pod exists.
	giveUp string
	// backoff is the rule under which the pod is left alone afterwards. It is empty if there is
	// none.
	backoff model.Rule
	// makesRoom is true if nothing of the database runs and the claim blocks a correction of its
	// pod. Such a claim ends although nobody can undo its drain.
	makesRoom bool
}

// absence is how long the pod of a claim is unavailable.
type absence struct {
	// wentAt is when the pod was seen to go, goneAt when it was known to be gone.
	wentAt, goneAt time.Time
	// counted is true if the time for which the pod was unavailable has been counted.
	counted bool
}

// attemptOf returns what is known about a claim. A claim that is not known was made by a
// predecessor, whose last order may still be under way, and who may have left the guard open.
func (a *step) attemptOf(claim model.Claim) *attempt {
	r := a.s.attempts[claim.ID]
	if r != nil {
		return r
	}
	r = &attempt{inherited: !a.s.made[claim.ID], takenAt: a.now}
	if r.inherited {
		r.known.Guard = GuardMaybeOpen
		r.notAfter = a.now.Add(effect.WriteAhead)
		r.unansweredUntil, r.handover.mayStopUntil = r.notAfter, r.notAfter
		if a.Engine.EvacuatesOthers && replaces(claim) {
			r.othersUnansweredUntil = r.notAfter
		}
	}
	a.s.attempts[claim.ID] = r
	return r
}

// reappeared notes that the pod is shown again.
func (r *attempt) reappeared() {
	if r.known.StillExists {
		r.known.StillExists = false
		r.succeeded()
	}
}

// backToBarrier forgets what was observed, because it may have changed. The guard is closed, and it
// is opened again only on a new observation.
func (r *attempt) backToBarrier() {
	r.observedAt, r.led = time.Time{}, nil
	if r.known.Guard == GuardKnownOpen {
		r.known.Guard = GuardMaybeOpen
	}
}

// refusedFor notes that the removal was refused, and why.
func (r *attempt) refusedFor(now time.Time, pause time.Duration, err error) {
	r.refusedUntil, r.refusal, r.problem = now.Add(pause), err.Error(), err.Error()
}

// due returns when a move may be tried. Closing a guard does not wait for what holds the pod.
func (r *attempt) due(move Move) time.Time {
	if (move == MoveObserve || move == MoveOpenGuard) && r.refusedUntil.After(r.retryAt) {
		return r.refusedUntil
	}
	return r.retryAt
}

// removalAccepted notes that the pod is going or has gone.
func (r *attempt) removalAccepted(now time.Time) {
	r.refusals = refusals{unanswered: r.unanswered, refusedUntil: r.refusedUntil}
	r.known.Guard, r.sentAt = RemovalAccepted, now
}

// podGoing notes that the pod is going, so that its guard no longer matters.
func (r *attempt) podGoing(now time.Time) {
	if r.known.Guard != GuardKnownClosed {
		r.known.Guard = GuardUntouched
	}
	if r.wentAt.IsZero() {
		r.wentAt = now
	}
}

// abandon ends the claim for a reason. If a rule is given, the pod is left alone under it
// afterwards.
func (r *attempt) abandon(why string, rule model.Rule) {
	if r.giveUp != "" {
		return
	}
	r.giveUp, r.backoff = why, rule
	if r.known.Guard == GuardKnownClosed {
		r.known.Guard = GuardUntouched // only what the API server says after this counts
	}
	r.succeeded()
}

// cancelGiveUp cancels giving up a claim that can no longer be given up. The claim is tried again
// after a pause.
func (r *attempt) cancelGiveUp(now time.Time) {
	r.problem, r.retryAt = r.giveUp, now.Add(lastRetry)
	r.giveUp, r.backoff = "", ""
	r.notHeld()
	r.conflicts, r.budgets, r.rejections = 0, 0, 0
}

// finished returns, once, how long the pod was unavailable. It returns false for a pod that had
// gone before this coordinator observed it, because the full time is not known.
func (r *attempt) finished(now time.Time) (time.Duration, bool) {
	if r.counted || r.wentAt.IsZero() || r.inherited {
		return 0, false
	}
	r.counted = true
	return now.Sub(r.wentAt), true
}

// mayWriteUntil returns the time until which the pod's agent may still be carrying out an order. An
// agent that has confirmed the drain has carried out the orders before that, unless it was never
// heard from.
func (r *attempt) mayWriteUntil() time.Time {
	if !r.known.Drained.confirmed() {
		return r.notAfter
	}
	return r.unansweredUntil
}

// ordered notes an order to the pod's agent and its result. An order that was never sent says
// nothing about earlier ones.
func (r *attempt) ordered(order effect.Order, err error) {
	if order.NotAfter.IsZero() {
		return
	}
	if r.notAfter = order.NotAfter; err != nil {
		r.unansweredUntil = order.NotAfter
	}
	if err != nil && order.For != (effect.Subject{}) {
		r.othersUnansweredUntil = order.NotAfter
	}
	if !order.KeepWrites && order.For == (effect.Subject{}) {
		r.handover.mayStopUntil = order.NotAfter
	}
}
