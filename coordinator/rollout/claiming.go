package rollout

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// claimSteps adds claims for the plan's steps, except for a database cluster that is being
// deleted. The claims of the snapshot are those that remain.
func (a *step) claimSteps() {
	if !a.Object.DeletionTimestamp.IsZero() {
		return
	}
	steps := a.unclaimed()
	together := 1
	if outage(a.Snapshot) {
		together = len(steps) // all or none
	}
	for i, step := range steps {
		if i%together == 0 && !a.mayOpen(len(a.out.Claims)+together) {
			return // stepped again when another cluster's restart has ended
		}
		claim := newClaim(a.s.epoch, a.Snapshot, step)
		a.out.Edits.Add = append(a.out.Edits.Add, claim)
		a.out.Claims = append(a.out.Claims, claim)
	}
}

// unclaimed returns the plan's steps that can be carried out now and have no claim yet.
func (a *step) unclaimed() []model.Step {
	return slices.DeleteFunc(slices.Clone(a.plan.Steps), func(step model.Step) bool {
		taken := func(c model.Claim) bool { return c.Pod == step.Pod }
		return a.backsOff(step.UID) || !a.canDo(step) ||
			slices.ContainsFunc(a.Snapshot.Cluster.Status.Claims, taken) || slices.ContainsFunc(a.out.Edits.Add, taken)
	})
}

// canDo refuses steps that this version cannot carry out, and steps that would let a healthy pod go
// without a drain.
func (a *step) canDo(step model.Step) bool {
	switch {
	case step.UID == "":
		return false
	case !carriesOut(step.Action):
		if step.Action != model.ActionRestore {
			a.out.error("step that cannot be carried out", "pod", step.Pod, "action", string(step.Action))
		}
		return false
	case step.Prepare != model.PrepareHandoff && step.Prepare != model.PrepareEvacuate && !undrained(a.Snapshot, step):
		a.out.error("step without a drain for a pod that can be drained", "pod", step.Pod, "reason", string(step.Reason))
		return false
	}
	return true
}

// carriesOut reports whether an action ends with a pod going. A pod that must leave its node is
// removed by us as soon as it is drained, unless somebody who drains the node is first. Restore
// concerns claims that exist already.
func carriesOut(action model.Action) bool {
	switch action {
	case model.ActionRestart, model.ActionLowerPartition, model.ActionRemove, model.ActionReplace, model.ActionHandoff, model.ActionEvacuate:
		return true
	}
	return false
}

// undrained reports whether a pod may go without a drain: it is broken, it has no agent, a person
// hands it to its controller, or its whole pool or database is shut down on purpose.
func undrained(s model.Snapshot, step model.Step) bool {
	if step.OutsideBudget || outage(s) || step.Reason == model.ReasonNeverStarted || step.Reason == model.ReasonFailed {
		return true
	}
	pod := podNamed(s, step.Pod)
	if pod == nil || !pod.Agent {
		return true
	}
	pool := poolOf(s, step.Pod)
	return pool != nil && (pool.AllowShutdown && pool.Replicas == 0 || rolls(pool) && pool.Force && step.Action == model.ActionLowerPartition)
}

// newClaim returns a claim for a step that was decided on s. It has no id yet: see
// Outcome.NameClaims.
func newClaim(epoch int64, s model.Snapshot, step model.Step) model.Claim {
	claim := model.Claim{
		Pod: step.Pod, UID: step.UID, Action: step.Action, Reason: step.Reason, Prepare: step.Prepare,
		Epoch: epoch, Phase: model.PhaseClaimed, StartedAt: s.Now, BeforeTurn: step.BeforeTurn,
	}
	claim.Groups, claim.Broken = notFull(s, step.Pod)
	claim.Unseen = !slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Report != nil && p.Report.Member == model.MembershipLive })
	if pod := podNamed(s, step.Pod); pod != nil {
		claim.From, claim.Zone = pod.Revision, pod.Zone
		for _, pool := range s.Pools {
			if pool.Name == pod.Pool {
				claim.To = pool.Revision
			}
		}
		if claim.Zone == "" {
			for _, node := range s.Nodes {
				if node.Name == pod.Node {
					claim.Zone = node.Zone
				}
			}
		}
	}
	return claim
}

// notFull returns, for a pod's groups that are not full, their number of Active members, and, for
// groups in which the pod's own members are not all Active, the number that is not. The recreated
// pod is not required to do better than that.
func notFull(s model.Snapshot, pod string) (active, broken map[string]int32) {
	active, broken = map[string]int32{}, map[string]int32{}
	for _, group := range s.Groups {
		there, missing, hosted := int32(0), int32(0), false
		for _, member := range group.Members {
			own := member.Pod == pod
			hosted = hosted || own
			switch {
			case member.State == model.MemberActive:
				there++
			case own:
				missing++
			}
		}
		if hosted && int(there) < len(group.Members) {
			active[group.ID] = there
		}
		if missing > 0 {
			broken[group.ID] = missing
		}
	}
	return orNil(active), orNil(broken)
}

func orNil(counts map[string]int32) map[string]int32 {
	if len(counts) == 0 {
		return nil
	}
	return counts
}
