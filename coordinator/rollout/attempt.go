package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// attempt is what this coordinator knows of one claim beyond what is written in it.
type attempt struct {
	retry
	known Known
	// observedAt is when the last complete look of pod and witnesses was over. It is zero if there
	// was none.
	observedAt time.Time
	// opened is the pod when its guard was opened, sentAt when its removal was accepted.
	opened effect.PodSeen
	sentAt time.Time

	orders
	refusals
	ending
	holding
	lasting
	onBehalf
	absence

	// restarts is true if the pod is restarted before it can be replaced.
	restarts bool
	// askedIn is how many settings had been restored when the agent was asked what
	// its drain will change; settingBusyUntil is until when another drain had to write the same
	// setting first; over: the claim needs the setting no more.
	askedIn          int
	settingBusyUntil time.Time
	settingReleased  bool
	// drainBegan is when the agent was first asked to drain the pod, or another to hand over.
	drainBegan time.Time
	// inherited is true if the claim is a predecessor's.
	inherited bool
	// takenAt is when this coordinator took the claim up. When it says that it was made is by
	// a clock that may be another's, or may have been set since.
	takenAt    time.Time
	lastLogged string
}

// orders are those of which an agent may still be carrying one out.
type orders struct {
	// notAfter is the time past which no agent of the claimed pod starts a write, unansweredUntil
	// the same as far as orders go that nobody has answered.
	notAfter, unansweredUntil time.Time
	// othersUnansweredUntil is the time past which no other pod's agent starts a write for the claimed one,
	// by an order that it has not answered.
	othersUnansweredUntil time.Time
}

// refusals are the removals that were refused, in a row.
type refusals struct {
	// unanswered is true if a write that opens the guard or lowers the partition may still be
	// carried out.
	unanswered bool
	// refusedUntil is when a removal that was refused may be tried again, refusal why it was.
	refusedUntil time.Time
	refusal      string
	conflicts    int
	budgets      int
	rejections   int
	// behinds counts how often the cache was behind when the pod was to go.
	behinds int
}

// ending is why and how a claim ends that is not carried out.
type ending struct {
	// giveUp is why the claim is not carried out; final while the pod is there.
	giveUp string
	// backoff is the rule under which the pod is left alone afterwards; empty means none.
	backoff model.Rule
	// makesRoom is true if nothing of the database runs, and the claim keeps a correction from its
	// pod, so it ends though nobody can undo its drain.
	makesRoom bool
}

// absence is how long the pod of a claim is unavailable.
type absence struct {
	// wentAt is when the pod was seen to go, goneAt when it was known to be gone.
	wentAt, goneAt time.Time
	// counted is true if how long it was unavailable has been counted.
	counted bool
}

// attemptOf is what is known of a claim. One that is not known was made by a predecessor,
// whose last order may still be under way, and who may have left the guard open.
func (a *step) attemptOf(claim model.Claim) *attempt {
	r := a.s.attempts[claim.ID]
	if r != nil {
		return r
	}
	r = &attempt{inherited: !a.s.made[claim.ID], takenAt: a.now}
	if r.inherited {
		r.known.Guard = GuardMaybeOpen
		r.notAfter = a.now.Add(effect.WriteAhead)
		r.unansweredUntil = r.notAfter
		if a.Engine.EvacuatesOthers && replaces(claim) {
			r.othersUnansweredUntil = r.notAfter
		}
	}
	a.s.attempts[claim.ID] = r
	return r
}

// reappeared: the pod is in sight again.
func (r *attempt) reappeared() {
	if r.known.StillExists {
		r.known.StillExists = false
		r.succeeded()
	}
}

// backToBarrier: what was looked at is no longer what is there. The guard is
// closed, and opened again after that, given what is there then.
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

// due is when a move may be tried. A guard is closed without waiting for what keeps
// its pod.
func (r *attempt) due(move Move) time.Time {
	if (move == MoveObserve || move == MoveOpenGuard) && r.refusedUntil.After(r.retryAt) {
		return r.refusedUntil
	}
	return r.retryAt
}

// removalAccepted notes that the pod goes, or has gone.
func (r *attempt) removalAccepted(now time.Time) {
	r.refusals = refusals{unanswered: r.unanswered, refusedUntil: r.refusedUntil}
	r.known.Guard, r.sentAt = RemovalAccepted, now
}

// podGoing notes that the pod goes, so that its guard is nobody's business any more.
func (r *attempt) podGoing(now time.Time) {
	if r.known.Guard != GuardKnownClosed {
		r.known.Guard = GuardUntouched
	}
	if r.wentAt.IsZero() {
		r.wentAt = now
	}
}

// abandon ends the claim for a reason; with a rule the pod is left alone after it.
func (r *attempt) abandon(why string, rule model.Rule) {
	if r.giveUp != "" {
		return
	}
	r.giveUp, r.backoff = why, rule
	if r.known.Guard == GuardKnownClosed {
		r.known.Guard = GuardUntouched // the API server must say so after this
	}
	r.succeeded()
}

// cancelGiveUp takes back that a claim is to be given up which cannot be any more: it is tried
// again after a while.
func (r *attempt) cancelGiveUp(now time.Time) {
	r.problem, r.retryAt = r.giveUp, now.Add(lastRetry)
	r.giveUp, r.backoff = "", ""
	r.notHeld()
	r.conflicts, r.budgets, r.rejections = 0, 0, 0
}

// finished answers, once, how long the pod was unavailable. A pod that had gone before this
// coordinator looked at it was unavailable for longer than is known.
func (r *attempt) finished(now time.Time) (time.Duration, bool) {
	if r.counted || r.wentAt.IsZero() || r.inherited {
		return 0, false
	}
	r.counted = true
	return now.Sub(r.wentAt), true
}

// mayWriteUntil is until when the agent of the pod may still be carrying out an order. One
// that has said that the pod is drained has carried out what it was asked before that,
// unless it was never heard of.
func (r *attempt) mayWriteUntil() time.Time {
	if !r.known.Drained.confirmed() {
		return r.notAfter
	}
	return r.unansweredUntil
}

// ordered notes an order to the agent of the pod, and what came of it. One that was never sent
// says nothing about those before it.
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
}
