package rollout

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// backoff is of a pod that is left alone for a while, because a claim on it had to be
// given up for a reason that no snapshot shows.
type backoff struct {
	rule   model.Rule
	reason string
	until  time.Time
	times  int
}

// leaveAlone begins a back-off, each longer than the one before.
func (a *step) leaveAlone(uid string, rule model.Rule, reason string) {
	r := a.s.backoffs[uid]
	if r == nil {
		r = &backoff{}
		a.s.backoffs[uid] = r
	}
	r.rule, r.reason = rule, reason
	r.until = a.now.Add(min(firstBackoff<<min(r.times, 8), lastBackoff))
	r.times++
}

// annotate adds to the snapshot what was found out by acting, and what cannot be done,
// so that the policy holds such pods under a rule with a name.
func (a *step) annotate() {
	known := &a.Snapshot.Cluster.Status
	known.LastDeparture, known.LastProgress = asOf(a.now, a.LastDeparture), asOf(a.now, a.s.progress.At())
	a.Snapshot.Pods = slices.Clone(a.Snapshot.Pods)
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		r := a.s.backoffs[pod.UID]
		if pod.UID == "" || r == nil || !a.Snapshot.Now.Before(r.until) {
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
	a.refuseReplacements()
	a.refuseEvictions()
}

// refuseEvictions marks the pods whose eviction a foreign budget would
// refuse, so that they are not drained in vain. What the StatefulSet controller
// or a delete removes is asked of no budget.
func (a *step) refuseEvictions() {
	if len(a.Budgets) == 0 || a.Snapshot.Cluster.Spec.WithDefaults().Update.Method != model.Evict {
		return
	}
	rolling := map[string]bool{}
	for i := range a.Snapshot.Pools {
		rolling[a.Snapshot.Pools[i].Name] = rolls(&a.Snapshot.Pools[i])
	}
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		if budget := a.Budgets[pod.Name]; budget != "" && pod.Refused == "" && !rolling[pod.Pool] {
			pod.Refused, pod.RefusedBy = model.ForeignBudget, budget
		}
	}
}

// backsOff says whether a pod is to be left alone.
func (a *step) backsOff(uid string) bool {
	r := a.s.backoffs[uid]
	return r != nil && a.now.Before(r.until)
}

func (a *step) wakeForBackoffs() {
	for _, r := range a.s.backoffs {
		if a.now.Before(r.until) {
			a.out.wake(r.until)
		}
	}
}

// claimSteps adds claims for the plan's steps, except for a database cluster that is being
// deleted. The claims of the snapshot are those that remain.
func (a *step) claimSteps() {
	if !a.Object.Deleted.IsZero() {
		return
	}
	steps := a.unclaimed()
	together := 1
	if outage(a.Snapshot) {
		together = len(steps) // all of them, or none
	}
	for i, step := range steps {
		if i%together == 0 && !a.mayOpen(len(a.out.Claims)+together) {
			return // told again when another cluster's restart has ended
		}
		claim := newClaim(a.s.epoch, a.Snapshot, step)
		a.out.Edits.Add = append(a.out.Edits.Add, claim)
		a.out.Claims = append(a.out.Claims, claim)
	}
}

// unclaimed are the plan's steps that can be carried out now, and of which nobody has a claim.
func (a *step) unclaimed() []model.Step {
	return slices.DeleteFunc(slices.Clone(a.plan.Steps), func(step model.Step) bool {
		taken := func(c model.Claim) bool { return c.Pod == step.Pod }
		return a.backsOff(step.UID) || !a.canDo(step) ||
			slices.ContainsFunc(a.Snapshot.Cluster.Status.Claims, taken) || slices.ContainsFunc(a.out.Edits.Add, taken)
	})
}

// canDo refuses steps that this version cannot carry out, and any healthy pod
// that would go without a prepare.
func (a *step) canDo(step model.Step) bool {
	switch {
	case step.UID == "":
		return false
	case !carriesOut(step.Action):
		if step.Action != model.Restore {
			a.out.error("step that cannot be carried out", "pod", step.Pod, "action", string(step.Action))
		}
		return false
	case step.Prepare != model.PrepareHandoff && step.Prepare != model.PrepareEvacuate && !unprepared(a.Snapshot, step):
		a.out.error("step without a drain for a pod that can be drained", "pod", step.Pod, "reason", string(step.Reason))
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
