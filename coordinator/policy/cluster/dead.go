package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// KnownDead reports whether there is evidence that the pod will not come back by itself.
func (x *Index) KnownDead(p *Pod) bool {
	switch p.Phase {
	case model.PodPhaseMissing:
		return x.Overdue(p)
	case model.PodPhaseTerminating:
		return false
	}
	return x.FailureReason(p) != "" || x.unheard(p)
}

// unheard reports whether a pod has no agent, no live pod reports on it, and it is not Ready in
// time.
func (x *Index) unheard(p *Pod) bool {
	return !p.Agent && p.OwnReport == nil && p.Phase == model.PodPhaseStarted && x.Overdue(p)
}

// ClaimHasGone reports whether there is no claim, or the pod came after the claimed one.
func (p *Pod) ClaimHasGone() bool {
	c := p.Claim
	return c == nil || c.UID != "" && p.UID != "" && c.UID != p.UID
}

// WaitsForLivePod reports whether there is no claim, or the pod is to be replaced, which is
// possible only when a live pod confirms that nothing is left on it.
func (p *Pod) WaitsForLivePod() bool {
	c := p.Claim
	return c == nil || c.Action == model.ActionReplace && c.UID == p.UID
}

// NotYetCreated reports whether the controller of an OrderedReady pool creates the pod only after
// all lower ordinals are Ready, so that a missing pod cannot come back by itself. The lower ones
// are checked separately.
func (x *Index) NotYetCreated(p *Pod) bool {
	if p.Phase != model.PodPhaseMissing || p.OwnPool.Management != model.ManagementOrderedReady {
		return false
	}
	for i := range x.Pods {
		if o := &x.Pods[i]; o.OwnPool == p.OwnPool && o.Desired && o.Ordinal < p.Ordinal && o.Phase != model.PodPhaseReady {
			return true
		}
	}
	return false
}

// StuckOnGoneNode reports whether the pod is terminating on a node that is gone, so that its object
// stays for ever and the pod cannot be recreated under its name.
func (x *Index) StuckOnGoneNode(p *Pod) bool {
	return p.Phase == model.PodPhaseTerminating && x.NodeGone(p)
}
