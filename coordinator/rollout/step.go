package rollout

import (
	"maps"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// step is one run of Step.
type step struct {
	// s is the state that the step leaves.
	s State
	Facts
	now  time.Time
	plan model.Plan
	out  *Decision
}

// Step decides what is to be done next about one database cluster. results are those of effects
// that had ended before the facts were gathered; now is when the gathering began.
func Step(state State, facts Facts, results []Result, now time.Time) (State, Decision) {
	a := &step{s: state.clone(), Facts: facts, now: now, out: &Decision{}}
	for _, r := range results {
		r.learn(a)
	}
	if a.s.superseded || a.Record.Epoch != a.s.epoch {
		a.s.superseded = true
		return a.s, Decision{Superseded: true}
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
		return a.s, Decision{Superseded: true}
	}
	a.judgeProgress()
	return a.s, *a.out
}

// decide asks the policy. Nothing else does.
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
	c, why := a.look(claim, r)
	a.noteOver(c, r)
	move := next(c)
	a.say(r, claim, c, move, why)
	if why != "" {
		a.out.Waiting[claim.Pod] = why
	}
	if now := phase(c); now != claim.Phase {
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
	if !r.recheckAt.IsZero() {
		a.out.wake(r.recheckAt)
	}
	if r.heard.Opened && !c.CaughtUp {
		a.out.wake(a.now.Add(catchUpEvery)) // the cache tells of no change that decides nothing
	}
	if !r.heldSince.IsZero() {
		a.out.wake(r.heldSince.Add(patience + 1))
	}
	if c.Held || r.heard.Sent {
		// Only time may end these: a look that grows old, a cache that lags.
		a.out.wake(a.now.Add(observedFor))
	}
}

// edit carries out a move that only changes the status; false: it is another kind of move.
func (a *step) edit(claim model.Claim, r *attempt, c Case, move Move) bool {
	edits := &a.out.Edits
	switch move {
	case Wait:
	case RecordDrain:
		if len(r.heard.Undo) > 0 || r.heard.Shared.Knob != "" {
			edits.Undo[claim.ID] = r.heard.Undo
		}
		if len(r.heard.Volumes) > 0 && len(claim.Volumes) == 0 {
			edits.Volumes[claim.ID] = r.heard.Volumes
		}
		if r.heard.Shared.Knob != "" {
			edits.Share[claim.ID], a.s.shared[claim.ID] = r.heard.Shared, true
		}
	case RecordEmpty:
		edits.Emptied[claim.ID] = model.At(a.now)
	case FollowSuccessor:
		edits.Follow[claim.ID] = r.heard.Heir
		delete(a.s.attempts, claim.ID) // nothing that was heard of the pod is true of its successor
		a.s.made[claim.ID] = false
	case Release:
		if r.backoff != "" && c.Pod == Here {
			a.leaveAlone(claim.UID, r.backoff, r.giveUp)
			r.backoff = ""
		}
		if away, ok := r.finished(a.now); ok && c.Back {
			a.out.Absences = append(a.out.Absences, progress.Absence{Pod: claim.Pod, Lasted: away})
		}
		edits.Drop = append(edits.Drop, claim.ID)
		if r.heard.Left && len(claim.Undo) > 0 {
			edits.Leave = append(edits.Leave, model.Leftover{Claim: claim.ID, Pod: claim.Pod, Undo: claim.Undo})
		}
	default:
		return false
	}
	return true
}
