package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// KnownDead: there is evidence that the pod will not come back by itself.
func (x *Index) KnownDead(p *Pod) bool {
	switch p.Phase {
	case model.Missing:
		return x.Overdue(p)
	case model.Terminating:
		return false
	}
	return x.WhyBroken(p) != "" || x.unheard(p)
}

// unheard: nobody could tell of a pod without an agent but those that are live, and it is
// not Ready in time.
func (x *Index) unheard(p *Pod) bool {
	return !p.Agent && p.OwnReport == nil && p.Phase == model.Started && x.Overdue(p)
}

// ClaimHasGone: there is no claim, or the pod came after the one that was claimed.
func (p *Pod) ClaimHasGone() bool {
	c := p.Claim
	return c == nil || c.UID != "" && p.UID != "" && c.UID != p.UID
}

// WaitsForALivePod: there is no claim, or the pod is to be replaced, which it cannot be
// before somebody is live who says that nothing is left on it.
func (p *Pod) WaitsForALivePod() bool {
	c := p.Claim
	return c == nil || c.Action == model.Replace && c.UID == p.UID
}

// NotYetCreated: the controller of an OrderedReady pool makes no pod before all lower
// ordinals are Ready, so a missing one cannot come back by itself. Those lower ones are
// looked at for themselves.
func (x *Index) NotYetCreated(p *Pod) bool {
	if p.Phase != model.Missing || p.OwnPool.Management != model.OrderedReady {
		return false
	}
	for i := range x.Pods {
		if o := &x.Pods[i]; o.OwnPool == p.OwnPool && o.Desired && o.Ordinal < p.Ordinal && o.Phase != model.Ready {
			return true
		}
	}
	return false
}

// NeverEnds: the pod is terminating on a node that is gone, so that its object
// stays for ever, and with it the name that its successor needs.
func (x *Index) NeverEnds(p *Pod) bool { return p.Phase == model.Terminating && x.NodeGone(p) }
