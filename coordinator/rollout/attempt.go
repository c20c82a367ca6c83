package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// attempt is what this coordinator knows of one claim beyond what is written in it.
type attempt struct {
	heard Heard
	// busy: a move is under way.
	busy bool
	// observedAt is when the last complete look of pod and witnesses was over.
	observedAt time.Time
	// opened is the pod when its guard was opened.
	opened PodSeen
	sentAt time.Time
	// notAfter is the time past which no agent of the claimed pod starts a write, lostTill
	// the same as far as orders go that nobody has answered.
	notAfter, lostTill time.Time
	// othersTill is the time past which no other pod's agent starts a write for the claimed one,
	// by an order that it has not answered.
	othersTill time.Time
	// retryAt is when the next move may be tried, errors how many failed in a row.
	retryAt time.Time
	errors  int
	// unanswered: a write that opens the guard or lowers the line may still be carried out.
	unanswered bool
	// refusedUntil is when a removal that was refused may be tried again, refusal why it was.
	refusedUntil time.Time
	refusal      string
	// problem is the last failure, for people.
	problem string
	// heldSince is when a prepared pod was first held without a break.
	heldSince time.Time
	// giveUp is why the claim is not carried out; final while the pod is there.
	giveUp string
	// stopped is why a claim that can not be given up any more is not carried out now.
	stopped string
	// backoff is the rule under which the pod is left alone afterwards; empty = none.
	backoff model.Rule
	// conflicts, and refusals by a budget and others, in a row.
	conflicts  int
	refusals   int
	rejections int
	// behinds counts how often the cache was behind when the pod was to go.
	behinds int

	// recheckAt is when a clock will change what is said of the successor.
	recheckAt    time.Time
	prepareBegan time.Time
	wentAt       time.Time
	// askedIn is how many settings had been put back when the agent was asked what
	// its prepare will change.
	askedIn int
	// queuedTill is until when another prepare had to write the same setting first.
	queuedTill time.Time
	// goneAt is when it was known that the pod is gone, over whether the claim needs
	// the setting of the whole database no more.
	goneAt time.Time
	over   bool
	// confirming is since when the agent looks whether the pod is still prepared; zero: it has
	// said so, or was not asked. askedAt is when it was asked last.
	confirming, askedAt time.Time
	// lapses counts the prepares that did not last; led are the groups that the pod led
	// when it was looked at last.
	lapses int
	led    map[string]bool
	// overdue: the pod goes unprepared, because its time is up and the spec says so;
	// spared: because it is broken by now.
	overdue, spared bool
	// passedOver is how many agents gave no answer when they were asked to hand over for
	// the pod, relievedBy the one that has; empty: none, and retained are the groups that it
	// still led after that.
	passedOver int
	relievedBy string
	retained   map[string]bool
	// byOthers: another pod's agent has emptied the pod.
	byOthers bool
	// restarts: it is restarted before it can be replaced.
	restarts bool
	// makesRoom: nothing of the database runs, and the claim keeps a correction from its pod, so
	// it ends though nobody can undo its drain.
	makesRoom bool
	// inherited: the claim is a predecessor's.
	inherited bool
	// takenAt is when this process took the claim up. When it says that it was made is by
	// a clock that may be another's, or may have been set since.
	takenAt time.Time
	done    bool
	said    string
}

// attemptOf is what is known of a claim. One that is not known was made by a predecessor,
// whose last order may still be under way, and who may have left the guard open.
func (a *step) attemptOf(claim model.Claim) *attempt {
	r := a.s.attempts[claim.ID]
	if r == nil {
		r = &attempt{inherited: !a.s.made[claim.ID], takenAt: a.now}
		r.heard.Ajar = r.inherited
		if r.inherited {
			r.notAfter = a.now.Add(WriteAhead)
			r.lostTill = r.notAfter
			if a.Engine.EvacuatesOthers && replaces(claim) {
				r.othersTill = r.notAfter
			}
		}
		a.s.attempts[claim.ID] = r
	}
	return r
}

// failed notes a failure and when to try again.
func (r *attempt) failed(now time.Time, err error) {
	r.problem = err.Error()
	wait := firstRetry << min(r.errors, 10)
	r.errors++
	r.retryAt = now.Add(min(wait, lastRetry))
}

// succeeded forgets failures.
func (r *attempt) succeeded() {
	r.problem, r.errors, r.retryAt = "", 0, time.Time{}
}

// shown: the pod is in sight again.
func (r *attempt) shown() {
	if r.heard.Hidden {
		r.heard.Hidden = false
		r.succeeded()
	}
}

// backToBarrier: what was looked at is no longer what is there. The guard is
// shut, and opened again after that, given what is there then.
func (r *attempt) backToBarrier() {
	r.heard.Observed, r.observedAt, r.led = false, time.Time{}, nil
	r.heard.Ajar = r.heard.Ajar || r.heard.Opened
	r.heard.Opened = false
}

// refusedFor notes that the removal was refused, and why.
func (r *attempt) refusedFor(now time.Time, pause time.Duration, err error) {
	r.refusedUntil, r.refusal, r.problem = now.Add(pause), err.Error(), err.Error()
}

// due is when a move may be tried. A guard is shut without waiting for what keeps
// its pod.
func (r *attempt) due(move Move) time.Time {
	if (move == LookAnew || move == Open) && r.refusedUntil.After(r.retryAt) {
		return r.refusedUntil
	}
	return r.retryAt
}

// sent notes that the pod goes, or has gone.
func (r *attempt) sent(now time.Time) {
	r.conflicts, r.refusals, r.rejections, r.behinds, r.refusal = 0, 0, 0, 0, ""
	r.heard.Sent, r.sentAt = true, now
}

// abandon ends the claim for a reason; with a rule the pod is left alone after it.
func (r *attempt) abandon(why string, rule model.Rule) {
	if r.giveUp != "" {
		return
	}
	r.giveUp, r.backoff = why, rule
	r.heard.Closed = false // the API server must say so after this
	r.succeeded()
}

// finished answers, once, how long the pod was away. A pod that had gone before
// this process looked at it was away for longer than is known.
func (r *attempt) finished(now time.Time) (time.Duration, bool) {
	if r.done || r.wentAt.IsZero() || r.inherited {
		return 0, false
	}
	r.done = true
	return now.Sub(r.wentAt), true
}

// say logs transitions, not steps.
func (a *step) say(r *attempt, claim model.Claim, c Case, move Move, why string) {
	what := move.String() + " " + why
	if what == r.said || move == ApplyDrain && r.said == "Drain "+why {
		return
	}
	r.said = what
	a.out.info("claim", "id", claim.ID, "pod", claim.Pod, "move", move.String(), "phase", string(phase(c)), "whereabouts", c.Pod.String(), "why", why)
}

// mayWriteUntil is until when the agent of the pod may still be carrying out an order. One
// that has said that the pod is prepared has carried out what it was asked before that,
// unless it was never heard of.
func (r *attempt) mayWriteUntil() time.Time {
	if !r.heard.Prepared || r.overdue || r.spared {
		return r.notAfter
	}
	return r.lostTill
}

// ordered notes an order to the agent of the pod, and what came of it.
func (r *attempt) ordered(order Order, err error) {
	if r.notAfter = order.NotAfter; err != nil {
		r.lostTill = order.NotAfter
	}
	if err != nil && order.For != (Subject{}) {
		r.othersTill = order.NotAfter
	}
}
