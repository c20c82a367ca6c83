package rollout

import (
	"errors"

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

// emptiedByOthers reports whether nothing of the pod runs, so that its member is unavailable, and
// any other pod's agent can empty it.
func (a *step) emptiedByOthers(pod *model.Pod) bool {
	return a.Engine.EvacuatesOthers && pod.UID != "" && pod.Phase == model.PodPhasePending
}

// changeDrainer: the agent of a pod that has started after all has its say, too.
func (r *attempt) changeDrainer(byOthers bool) {
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
	others := a.handoffAgents(claim)
	order.For = effect.Subject{UID: claim.UID, Node: a.MemberNames[claim.Pod]}
	switch {
	case order.For.Node == "":
		return effect.Target{}, order, errors.New(nameUnknown)
	case len(others) == 0:
		return effect.Target{}, order, errors.New(nobodyWell)
	}
	return others[0], order, nil
}
