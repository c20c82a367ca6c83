package rollout

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Sometimes nobody can empty a pod that is to be replaced. For example, somebody deletes it before its
// volumes are deleted, and its successor has no agent, or cannot start because the template has changed
// since. The claim would mark that pod for replacement for ever, and block the restart that gives it an
// agent or a working template. So the claim is given up where that is possible. If the claim already says
// that the pod is empty, it cannot be given up, and the pod is restarted first.

// hopeless says why a replacement cannot be carried out. It returns an empty reason if it can.
// passes is true if this may change in a moment.
func (a *step) hopeless(s model.Snapshot, claim model.Claim) (why string, passes bool) {
	pod := podNamed(s, claim.Pod)
	switch {
	case !replaces(claim) || committed(claim) || pod == nil:
	case correctedFirst(s, claim, pod):
		return "a restart corrects it first", false
	case !hasAgent(pod) && !a.emptiedByOthers(pod):
		return "no agent runs in it that could empty it", true
	case !othersHaveAgents(s, claim.Pod):
		return "no other pod has an agent that could say that nothing is left on it", true
	}
	return "", false
}

// restartsFirst reports whether the claim can no longer be given up, the pod went before its
// volumes, and it has come back without an agent or with a template that does not start. It would
// wait for its agent for ever, so it is restarted and keeps its data.
func (a *step) restartsFirst(s model.Snapshot, claim model.Claim) bool {
	pod := podNamed(s, claim.Pod)
	if !committed(claim) || pod == nil || pod.UID != claim.UID {
		return false
	}
	return !pod.Agent && !a.emptiedByOthers(pod) || correctedFirst(s, claim, pod) && !keptByPartition(s, pod)
}

// changeWay goes back to the barrier when a pod is to be restarted rather than replaced, or the
// other way round, because an observation for one says nothing about the other. A pod that was to
// be restarted may have started after all, and is then emptied.
func (r *attempt) changeWay(restarts bool) {
	if r.restarts != restarts {
		r.restarts = restarts
		r.backToBarrier()
	}
}

// holdOf decides again for a claimed pod alone, either for what it was claimed for or for a restart
// that comes first.
func holdOf(s model.Snapshot, claim model.Claim, restarts bool) *model.Hold {
	if !restarts {
		return judgeGoing(s, claim).hold
	}
	s = withoutClaim(s, claim)
	s.Pods = slices.Clone(s.Pods)
	pod := podNamed(s, claim.Pod)
	pod.Refused, pod.MustReplace = "", nil // the replacement comes after it
	s.Cluster.Spec.Replacement.UpdateStrategy = model.UpdateDelete
	if till := pod.Since.Add(policy.AdoptAgain); !pod.Agent && till.After(s.Now.Time) {
		return &model.Hold{Pod: claim.Pod, Rule: model.RuleApproval, Reason: "it has come without an agent, and is not restarted for one so soon"}
	}
	step, hold := policy.Recheck(s, claim.Pod)
	if step == nil && hold == nil {
		hold = &model.Hold{Pod: claim.Pod, Rule: model.RuleVeto, Reason: "it has come without an agent, and is not to have any"}
	}
	return hold
}

// correctedFirst reports whether, without the claim, the policy would let the pod go at once with a
// restart that corrects it and makes nothing unavailable.
func correctedFirst(s model.Snapshot, claim model.Claim, pod *model.Pod) bool {
	if pod.Report != nil && pod.Report.Member == model.MembershipLive {
		return false
	}
	step, _ := policy.Recheck(withoutClaim(s, claim), claim.Pod)
	return step != nil && !replaces(model.Claim{Action: step.Action}) && step.OutsideBudget
}
