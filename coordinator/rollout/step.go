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
	// s is the state that the step leaves.
	s State
	Facts
	now  time.Time
	plan model.Plan
	out  *Outcome
}

// Step decides what is to be done next about one database cluster. results are those of effects
// that had ended before the facts were gathered; now is when the gathering began.
func Step(state State, facts Facts, results []effect.Result, now time.Time) (State, Outcome) {
	a := &step{s: state.clone(), Facts: facts, now: now, out: &Outcome{}}
	for _, r := range results {
		a.learn(r)
	}
	if a.s.superseded || a.Record.Epoch != a.s.epoch {
		a.s.superseded = true
		return a.s, a.supersededDecision()
	}
	a.out.Edits = newEdits()
	a.out.Waiting = map[string]string{}
	a.annotate()
	a.decide()
	a.learnSettings()
	a.pursueAll()
	a.movePartitions()
	a.deleteByOverride()
	a.restoreSettings()
	a.restoreLeftovers()
	a.claim()
	a.wakeForBackoffs()
	if a.s.superseded {
		return a.s, a.supersededDecision()
	}
	a.judgeProgress()
	return a.s, *a.out
}

// supersededDecision has only what was learned.
func (a *step) supersededDecision() Outcome {
	return Outcome{Superseded: true, Log: a.out.Log, Drains: a.out.Drains}
}

// decide asks the policy for a plan. Nothing else does; what is asked about one claimed pod is in
// judge.go, hopeless.go and rolling.go.
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

// claim adds claims for the plan's steps. When claims end in this step, the plan was made with
// them: it is made again without, so that both are written at once.
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
		a.out.wake(a.now.Add(catchUpEvery)) // the cache tells of no change that decides nothing
	}
	a.out.wake(r.patienceEnds())
	if c.Held || r.known.Guard == RemovalAccepted {
		// Only time may end these: a look that grows old, a cache that lags.
		a.out.wake(a.now.Add(observationMaxAge))
	}
}

// assess makes a Case of one claim: what is seen, then what that changes in what is known, then
// what the policy says. why is what it waits for, in words, and recheck after which time alone
// may change that.
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
