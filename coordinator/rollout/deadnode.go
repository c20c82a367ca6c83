package rollout

import (
	"errors"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// deleteByOverride deletes the pods that a person has named because they are terminating on a node
// that is gone. It makes no claim: the override is the record, and the pod counts as unavailable.
func (a *step) deleteByOverride() {
	wanted := map[string]bool{}
	for _, pod := range policy.ForceDeletes(a.Snapshot) {
		wanted[pod.UID] = true
		r := a.s.forced[pod.UID]
		if r == nil {
			r = &pending{}
			a.s.forced[pod.UID] = r
		}
		switch {
		case r.busy || r.done:
		case a.now.Before(r.retryAt):
			a.out.wake(r.retryAt)
		default:
			r.busy = true
			a.effect(effect.DeleteByForce{Pod: effect.Target{Pod: pod.Name, UID: pod.UID}, Node: pod.Node, Expected: a.expected()})
		}
	}
	for uid, r := range a.s.forced {
		if !wanted[uid] && !r.busy {
			delete(a.s.forced, uid)
		}
	}
}

func (a *step) learnDeletedByForce(res effect.DeletedByForce) {
	r := a.s.forced[res.Pod.UID]
	if r == nil {
		return
	}
	r.busy = false
	switch {
	case res.Err == nil:
		a.out.warn("pod deleted by force, as an override of node-gone asks for", "pod", res.Pod.Pod, "uid", res.Pod.UID, "node", res.Node)
		r.succeeded()
		r.done = true
	case errors.Is(res.Err, effect.ErrGone):
		r.succeeded()
		r.done = true
	case errors.Is(res.Err, effect.ErrSuperseded):
		a.s.superseded = true
	default:
		a.out.warn("pod not deleted by force", "pod", res.Pod.Pod, "error", res.Err)
		r.failed(a.now, res.Err)
	}
}
