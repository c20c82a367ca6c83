package act

import (
	"context"
	"errors"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// deleteByOverride deletes the objects of those pods that a person has named, because they
// are terminating on a node that is gone. It takes no claim: the person's
// override is what was written before, and the pod is charged as away.
func (a *Actor) deleteByOverride(ctx context.Context, at Situation, out *Outcome) {
	wanted := map[string]bool{}
	for _, pod := range policy.ForceDeletes(at.Snapshot) {
		wanted[pod.UID] = true
		r := a.forced[pod.UID]
		if r == nil {
			r = &run{}
			a.forced[pod.UID] = r
		}
		switch {
		case r.busy || r.heard.Sent:
		case at.Now.Before(r.retryAt):
			out.wake(r.retryAt)
		default:
			r.busy = true
			a.running.Go(func() {
				err := a.deleteByForce(ctx, at, pod)
				a.tell(func() { r.busy = false; a.forcedOut(r, pod, err) })
			})
		}
	}
	for uid, r := range a.forced {
		if !wanted[uid] && !r.busy {
			delete(a.forced, uid)
		}
	}
}

func (a *Actor) deleteByForce(ctx context.Context, at Situation, pod model.Pod) error {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	seen, err := a.pods.read(ctx, pod.Name, pod.UID)
	if err != nil {
		return err
	}
	if err := a.stillLeads(ctx, at); err != nil {
		return err
	}
	return a.pods.removeByForce(ctx, seen)
}

func (a *Actor) forcedOut(r *run, pod model.Pod, err error) {
	switch {
	case err == nil:
		a.log.Warn("pod deleted by force, as an override of node-gone asks for", "pod", pod.Name, "uid", pod.UID, "node", pod.Node)
		r.succeeded()
		r.heard.Sent = true
	case errors.Is(err, errGone):
		r.succeeded()
		r.heard.Sent = true
	case errors.Is(err, errDeposed):
		a.depose()
	default:
		a.log.Warn("pod not deleted by force", "pod", pod.Name, "error", err)
		r.failed(err)
	}
}
