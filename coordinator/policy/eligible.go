package policy

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// noneEligible requires that a member that may lead is left in every group that needs a leader and
// can be protected.
func (d *decision) noneEligible(c *candidate) *finding {
	for i := range c.Hosts {
		o, asked := d.whatIf(c, &c.Hosts[i])
		if !asked || !o.group.NeedsLeader || o.eligible > 0 || o.group.Unprotectable(o.share) {
			continue
		}
		if f := d.leaderless(c, o); f != nil {
			return f
		}
	}
	return nil
}

// leaderless handles a group without a remaining member that may lead. If no other member ever
// could lead, no order of restarts keeps a leader, and the group is treated like any other that
// cannot be protected.
func (d *decision) leaderless(c *candidate, o outcome) *finding {
	g := o.group
	switch only := d.ledOnlyFrom(c.Pod, g); {
	case only && d.x.Spec.Policy.Unprotected == model.PermissionHold:
		return found(fmt.Sprintf("%s has no member elsewhere that may lead, and policy.unprotected is Hold", g.ID),
			"another member of "+g.ID+" that may lead, or policy.unprotected: Allow").of(g.ID)
	case only && o.othersMissing() > 0:
		return found(fmt.Sprintf("%s has no member elsewhere that may lead, and %d of its %d other %s are missing already",
			g.ID, o.othersMissing(), g.Total-o.share, g.Noun()), d.missingPods(c, g)).of(g.ID)
	case only:
		return nil
	}
	return found(g.ID+" would have no Active member that may lead", d.mayLead(c, g)).of(g.ID)
}

// ledOnlyFrom reports whether the pod alone has the members of a data group that may lead. In a
// group of data that depends on the kind of the member; in others it changes from moment to moment,
// for example with how far a replica lags.
func (d *decision) ledOnlyFrom(p *cluster.Pod, g *cluster.Group) bool {
	own := false
	for j := range g.Members {
		if !g.Members[j].Eligible {
			continue
		}
		if d.x.PlaceOf(g, j) != p.At {
			return false
		}
		own = true
	}
	return own && g.Kind == model.GroupShard
}

// mayLead names a pod whose return would let it lead.
func (d *decision) mayLead(c *candidate, g *cluster.Group) string {
	best := int32(-1)
	for j := range g.Members {
		if at := d.x.PlaceOf(g, j); at >= 0 && at != c.At && g.Members[j].Eligible && (best < 0 || at < best) {
			best = at
		}
	}
	if best >= 0 {
		return cluster.OrAdvice(d.x.Pods[best].Name+" back and caught up", &d.x.Pods[best])
	}
	return "another member of " + g.ID + " that may lead; or an override of eligible for " + c.Name + ": nobody leads " + g.ID + " then while it is unavailable"
}
