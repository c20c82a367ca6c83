package rollout

import (
	"errors"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

func (a *step) learnGoneConfirmed(res effect.GoneConfirmed) {
	r := a.done(res.Claim)
	switch {
	case r == nil:
	case res.Gone:
		r.succeeded()
		r.known.GoneConfirmed = true
	case res.Err != nil:
		r.failed(a.now, res.Err)
	case res.Why != "":
		r.known.StillExists = true
		r.failed(a.now, errors.New("the pod is still there: "+res.Why))
	default:
		r.known.StillExists = true
		r.failed(a.now, errors.New("the pod is still there, although the cache does not show it"))
	}
}

// A StatefulSet that loses its label, or that is deleted while its pods stay, is not shown any
// more, and neither are its pods. The database still runs, and what was drained in it is still
// drained. Only the API server itself can say that the pods are gone.

// poolHidden reports whether the snapshot shows nothing of the claimed pod's pool.
func poolHidden(s model.Snapshot, claim model.Claim) bool {
	return !slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return model.IsOf(claim.Pod, p.Name) })
}

func (a *step) learnSetFound(res effect.SetFound) {
	r := a.done(res.Claim)
	switch {
	case r == nil:
	case res.Err != nil:
		r.failed(a.now, res.Err)
	case res.Why != "":
		r.later(a.now.Add(findEvery), res.Why)
	default:
		a.out.info("the StatefulSet is gone, and its pods are", "id", res.Claim, "pod", a.podOfClaim(res.Claim))
		r.succeeded()
		r.known.SetGone = true
	}
}
