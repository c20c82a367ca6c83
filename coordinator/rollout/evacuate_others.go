package rollout

import (
	"errors"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// A pod that is replaced is emptied by its own agent. If the pod finds no node or its volume is
// lost, no agent ever runs in it. Another pod's agent then empties it, if the database lets any
// member do that, and only others can say what is on it.

const (
	nameUnknown = "no agent runs in it, and its name in the database is not certain"
	nobodyWell  = "no agent runs in it, and no other member is well whose agent could empty it"
)

// emptiedByOthers reports whether nothing of the pod runs, so that its member is unavailable and
// any other pod's agent can empty it.
func (a *step) emptiedByOthers(pod *model.Pod) bool {
	return a.Engine.EvacuatesOthers && pod.UID != "" && pod.Phase == model.PodPhasePending
}

// changeDrainer starts the drain again if another agent has emptied the pod and the pod has started
// after all: its own agent must drain it, too.
func (r *attempt) changeDrainer(byOthers bool) {
	if r.known.Drained == DrainedByOther && !byOthers {
		r.known.Drained = NotDrained
		r.backToBarrier()
	}
}

// address returns the order for a claimed pod and the agent that gets it.
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
