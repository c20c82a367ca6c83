package act

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// rest is a pod that is left alone for a while, because a claim on it had to be
// given up for a reason that no snapshot shows.
type rest struct {
	rule   model.Rule
	reason string
	until  time.Time
	times  int
}

// leaveAlone begins a rest, each longer than the one before.
func (a *Actor) leaveAlone(now time.Time, uid string, rule model.Rule, reason string) {
	r := a.rests[uid]
	if r == nil {
		r = &rest{}
		a.rests[uid] = r
	}
	r.rule, r.reason = rule, reason
	r.until = now.Add(min(firstRest<<min(r.times, 8), lastRest))
	r.times++
}

// Annotate adds to a snapshot what was found out by acting, and what an Actor
// cannot do, so that the policy holds such pods under a rule with a name.
func (a *Actor) Annotate(s *model.Snapshot) {
	for i := range s.Pods {
		pod := &s.Pods[i]
		r := a.rests[pod.UID]
		if pod.UID == "" || r == nil || !s.Now.Before(r.until) {
			continue
		}
		switch {
		case r.rule != model.Vetoed:
			pod.Refused = r.rule
		case pod.Report != nil && pod.Report.Veto == "":
			report := *pod.Report
			report.Veto = r.reason
			pod.Report = &report
		}
	}
	a.refuseReplacements(s)
}

// resting says whether a pod is to be left alone.
func (a *Actor) resting(now time.Time, uid string) bool {
	r := a.rests[uid]
	return r != nil && now.Before(r.until)
}

func (a *Actor) wakeForRests(now time.Time, out *Outcome) {
	for _, r := range a.rests {
		if now.Before(r.until) {
			out.wake(r.until)
		}
	}
}

// Claim adds claims for the plan's steps to an outcome, except for a database
// cluster that is being deleted. The claims of the snapshot are those that remain.
func (a *Actor) Claim(at Situation, out *Outcome) {
	if at.Cluster.DeletionTimestamp != nil {
		return
	}
	steps := a.unclaimed(at, out)
	together := 1
	if outage(at.Snapshot) {
		together = len(steps) // all of them, or none
	}
	for i, step := range steps {
		if i%together == 0 && !a.options.Grant(len(out.Claims)+together) {
			return // told again when another cluster's restart has ended
		}
		claim := newClaim(a.options.NewID(), a.options.Epoch, at.Snapshot, step)
		a.made[claim.ID] = true
		out.Edits.Add = append(out.Edits.Add, claim)
		out.Claims = append(out.Claims, claim)
	}
}

// unclaimed are the plan's steps that can be carried out now, and of which nobody has a claim.
func (a *Actor) unclaimed(at Situation, out *Outcome) []model.Step {
	return slices.DeleteFunc(slices.Clone(at.Plan.Steps), func(step model.Step) bool {
		taken := func(c model.Claim) bool { return c.Pod == step.Pod }
		return a.resting(at.Now, step.UID) || !a.canDo(at, step) ||
			slices.ContainsFunc(at.Snapshot.Cluster.Status.Claims, taken) || slices.ContainsFunc(out.Edits.Add, taken)
	})
}

// canDo refuses steps that this version cannot carry out, and any healthy pod
// that would go without a prepare.
func (a *Actor) canDo(at Situation, step model.Step) bool {
	switch {
	case step.UID == "":
		return false
	case !carriesOut(step.Action):
		if step.Action != model.Restore {
			a.log.Error("step that cannot be carried out", "pod", step.Pod, "action", string(step.Action))
		}
		return false
	case step.Prepare != model.PrepareHandoff && step.Prepare != model.PrepareEvacuate && !unprepared(at.Snapshot, step):
		a.log.Error("step without a prepare for a pod that can be prepared", "pod", step.Pod, "reason", string(step.Reason))
		return false
	}
	return true
}

// carriesOut says which actions end in a pod going. A pod that must leave its
// node is taken by us as soon as it is prepared, and perhaps by somebody who
// drains the node before that. Restore concerns claims that exist already.
func carriesOut(action model.Action) bool {
	switch action {
	case model.Restart, model.LowerPartition, model.Remove, model.Replace, model.Handoff, model.Evacuate:
		return true
	}
	return false
}

// outage: a person has approved that all pods go at once. Nobody is left then to whom
// one could hand its duties over.
func outage(s model.Snapshot) bool { return s.Cluster.Spec.Policy.Unit == model.UnitAll }

// unprepared says who may go without a prepare: pods that are broken, that have
// no agent, that a person hands to their controller, or whose whole pool is shut
// down, or database taken down, on purpose.
func unprepared(s model.Snapshot, step model.Step) bool {
	if step.OutsideBudget || outage(s) || step.Reason == model.ReasonNeverStarted || step.Reason == model.ReasonFailed {
		return true
	}
	pod := podNamed(s, step.Pod)
	if pod == nil || !pod.Agent {
		return true
	}
	pool := poolOf(s, step.Pod)
	return pool != nil && (pool.AllowShutdown && pool.Replicas == 0 || rolls(pool) && pool.Force && step.Action == model.LowerPartition)
}
