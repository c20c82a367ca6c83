package rollout

import (
	"maps"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// step is one run of Step.
type step struct {
	// s is the state after the step.
	s State
	Facts
	now  time.Time
	plan model.Plan
	out  *Outcome
	// handsOver are the pods that hand over, or are about to, by UID.
	handsOver map[string]bool
}

// Step decides what to do next about one database cluster. results are those of effects that had
// ended before the facts were gathered. now is when gathering them began.
func Step(state State, facts Facts, results []effect.Result, now time.Time) (State, Outcome) {
	a := &step{s: state.clone(), Facts: facts, now: now, out: &Outcome{}, handsOver: map[string]bool{}}
	for _, r := range results {
		a.learn(r)
	}
	if a.s.superseded || a.Record.Epoch != a.s.epoch {
		a.s.superseded = true
		return a.s, a.supersededOutcome()
	}
	a.out.Edits = newEdits()
	a.out.Waiting = map[string]string{}
	a.annotate()
	a.decide()
	a.learnSettings()
	a.pursueAll()
	a.labelRoles()
	a.movePartitions()
	a.deleteByOverride()
	a.restoreSettings()
	a.restorePending()
	a.claim()
	a.wakeForBackoffs()
	if a.s.superseded {
		return a.s, a.supersededOutcome()
	}
	a.judgeProgress()
	return a.s, *a.out
}

// supersededOutcome has only what was learned.
func (a *step) supersededOutcome() Outcome {
	return Outcome{Superseded: true, Log: a.out.Log, Drains: a.out.Drains}
}

// decide asks the policy for a plan. It is the only place that does; questions about one claimed
// pod are in recheck.go, hopeless.go and rolling.go.
func (a *step) decide() { a.plan = policy.Decide(a.Snapshot) }

// pursueAll does the next thing about each open claim.
func (a *step) pursueAll() {
	open := make(map[string]bool, len(a.Record.Claims))
	for _, claim := range a.Record.Claims {
		open[claim.ID] = true
		if claim.Epoch != a.s.epoch {
			a.s.superseded = true
			continue
		}
		a.pursue(claim)
	}
	maps.DeleteFunc(a.s.attempts, func(id string, r *attempt) bool { return !open[id] && !r.busy })
	maps.DeleteFunc(a.s.made, func(id string, _ bool) bool { return !open[id] })
}

// claim adds claims for the plan's steps. If claims end in this step, the plan is made again
// without them, so that both changes are written at once.
func (a *step) claim() {
	if drop := a.out.Edits.Drop; len(drop) > 0 {
		a.Snapshot.Cluster.Status.Claims = remaining(a.Snapshot.Cluster.Status.Claims, drop)
		a.out.Claims = remaining(a.out.Claims, drop)
		a.decide()
	}
	a.claimSteps()
}

// pursue does the next thing about one claim.
func (a *step) pursue(claim model.Claim) {
	r := a.attemptOf(claim)
	c, why, recheck := a.assess(claim, r)
	move := next(c)
	a.noteHandover(claim, r, &c)
	a.say(r, claim, c, move, why)
	if why != "" {
		a.out.Waiting[claim.Pod] = why
	}
	if now := stateOf(&c); now != claim.Phase {
		a.out.Edits.Phase[claim.ID] = now
		claim.Phase = now
	}
	a.out.Claims = append(a.out.Claims, claim)
	if !a.edit(claim, r, c, move) {
		if r.busy {
			return
		}
		if due := r.due(move); a.now.Before(due) {
			a.out.wake(due)
			return
		}
		a.start(claim, r, move)
	}
	if recheck > 0 {
		a.out.wake(a.now.Add(recheck))
	}
	if r.known.Guard == GuardKnownOpen && !c.CaughtUp {
		a.out.wake(a.now.Add(catchUpEvery)) // a change of the cache that decides nothing triggers no step
	}
	a.out.wake(r.patienceEnds())
	if c.Held || r.known.Guard == RemovalAccepted {
		// Only time may end these: an observation that expires, a cache that lags.
		a.out.wake(a.now.Add(observationMaxAge))
	}
}

// assess makes the Case of one claim: first what is seen, then how that changes what is known, then
// what the policy says. why is what the claim waits for, in words. recheck is after which time that
// may change without an event.
func (a *step) assess(claim model.Claim, r *attempt) (c Case, why string, recheck time.Duration) {
	v := a.see(claim)
	noticed, stopped := a.notice(claim, r, v)
	c = a.caseOf(claim, r, v, stopped)
	k := a.recheckClaim(claim, v, &c)
	c.Held, c.Empty = c.Held || k.held, k.empty
	a.losePatience(r, k, &c)
	a.noteSettingReleased(c, r)
	return c, a.waitReason(claim, r, v, &c, k, noticed), v.returned.recheck
}

// say logs transitions, not steps.
func (a *step) say(r *attempt, claim model.Claim, c Case, move Move, why string) {
	what := move.String() + " " + why
	if what == r.lastLogged || move == MoveDrain && r.lastLogged == "Drain "+why {
		return
	}
	r.lastLogged = what
	a.out.info("claim", "id", claim.ID, "pod", claim.Pod, "move", move.String(), "phase", string(stateOf(&c)), "whereabouts", c.Pod.String(), "why", why)
}
