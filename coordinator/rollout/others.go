package rollout

import (
	"errors"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// A pod that is replaced is emptied by its own agent. In a pod that finds no node, or
// whose volume is lost, none ever runs: then another pod's agent empties it, where the
// database lets any member do that, and others alone tell what is on it.

const (
	nameUnknown = "no agent runs in it, and its name in the database is not certain"
	nobodyWell  = "no agent runs in it, and no other member is well whose agent could empty it"
)

// hasAgent: an agent runs in the pod, or may. That of a pod which has no node cannot
// have started.
func hasAgent(pod *model.Pod) bool {
	return pod.Agent && pod.UID != "" && pod.Phase != model.Missing && pod.Phase != model.Pending
}

// isWrittenEmpty: a claim says of this very pod that it is empty.
func isWrittenEmpty(s model.Snapshot, pod *model.Pod) bool {
	return slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.UID == pod.UID && c.EmptiedAt != nil })
}

// onlyAgent: others run, and none of them has an agent.
func onlyAgent(s model.Snapshot, pod string) bool {
	return !othersHaveAgents(s, pod) && slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Name != pod && p.Phase == model.Ready })
}

// othersHaveAgents: somebody else can say that nothing is left on the pod, or will. Where nobody
// can, the others are adopted first.
func othersHaveAgents(s model.Snapshot, pod string) bool {
	return slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Name != pod && p.Agent })
}

// emptiedByOthers: nothing of the pod runs, so that its member is away, and any other
// pod's agent can empty it.
func (a *step) emptiedByOthers(pod *model.Pod) bool {
	return a.Engine.EvacuatesOthers && pod.UID != "" && pod.Phase == model.Pending
}

// changeHands: the agent of a pod that has started after all has its say, too.
func (r *attempt) changeHands(byOthers bool) {
	if r.known.Drained == DrainedByOther && !byOthers {
		r.known.Drained = NotDrained
		r.backToBarrier()
	}
}

// address is the order for a claimed pod, and whose agent gets it.
func (a *step) address(claim model.Claim) (effect.Target, effect.Order, error) {
	order := a.order(claim)
	pod := podNamed(a.Snapshot, claim.Pod)
	if !replaces(claim) || pod == nil || !a.emptiedByOthers(pod) {
		return effect.Target{Pod: claim.Pod, UID: claim.UID}, order, nil
	}
	others := a.relievers(claim)
	order.For = effect.Subject{UID: claim.UID, Node: a.Names[claim.Pod]}
	switch {
	case order.For.Node == "":
		return effect.Target{}, order, errors.New(nameUnknown)
	case len(others) == 0:
		return effect.Target{}, order, errors.New(nobodyWell)
	}
	return others[0], order, nil
}
