package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "fmt"

// In a database in which nobody is live nothing more can be lost by a restart. But whoever may
// still come back must be waited for: see the section "Nobody live" of the page.

// oneAtATime is for a database in which nobody is live: nothing more can be
// lost by a restart, so broken pods go, but one after the other, and only
// when everybody who could speak has said that he is not live.
func (d *decision) oneAtATime(c *candidate) *finding {
	for i := range d.x.pods {
		p := &d.x.pods[i]
		switch {
		case p == c.pod || !p.desired:
			continue
		case d.goesWith(p) && d.x.knownDead(p):
			continue // its controller makes none of them before the lowest is corrected
		case d.isChosen[i]:
			return found(fmt.Sprintf("no pod is live, so pods go one at a time, and %s goes first", p.Name),
				p.Name+" back, or failed again")
		case p.waitsForALivePod() && d.x.knownDead(p), d.x.notYetCreated(p), d.servesUnseen(p):
			continue
		}
		return found(fmt.Sprintf("no pod is live, so pods go one at a time, and %s (%s) may still come back", p.Name, p.awayWhy),
			p.Name+" back, or failed")
	}
	return nil
}

// knownDead: there is evidence that the pod will not come back by itself.
func (x *index) knownDead(p *pod) bool {
	switch p.Phase {
	case model.Missing:
		return x.overdue(p)
	case model.Terminating:
		return false
	}
	return x.whyBroken(p) != "" || x.unheard(p)
}

// unheard: nobody could tell of a pod without an agent but those that are live, and it is
// not Ready in time.
func (x *index) unheard(p *pod) bool {
	return !p.Agent && p.report == nil && p.Phase == model.Started && x.overdue(p)
}

// servesUnseen: to Kubernetes it is there, and it has no agent that could say otherwise. So
// nothing is taken from it, and there is nothing to wait for.
func (d *decision) servesUnseen(p *pod) bool {
	return p.Phase == model.Ready && !p.Agent && p.report == nil && !d.x.nodeGone(p) && p.claimHasGone()
}

// claimHasGone: there is no claim, or the pod came after the one that was claimed.
func (p *pod) claimHasGone() bool {
	c := p.claim
	return c == nil || c.UID != "" && p.UID != "" && c.UID != p.UID
}

// waitsForALivePod: there is no claim, or the pod is to be replaced, which it cannot be
// before somebody is live who says that nothing is left on it.
func (p *pod) waitsForALivePod() bool {
	c := p.claim
	return c == nil || c.Action == model.Replace && c.UID == p.UID
}

// notYetCreated: the controller of an OrderedReady pool makes no pod before all lower
// ordinals are Ready, so a missing one cannot come back by itself. Those lower ones are
// looked at for themselves.
func (x *index) notYetCreated(p *pod) bool {
	if p.Phase != model.Missing || p.pool.Management != model.OrderedReady {
		return false
	}
	for i := range x.pods {
		if o := &x.pods[i]; o.pool == p.pool && o.desired && o.Ordinal < p.Ordinal && o.Phase != model.Ready {
			return true
		}
	}
	return false
}
