package policy

import "slices"

// A copy that is down on a live pod is broken, and its pod's own restart may be all that
// brings it back. Until then the copy counts as missing in its group, which holds the
// other pods of that group. So a pod that is to go after those must not wait for them.

// waitsForCure: o is held by a group of which a copy on c is broken.
func (d *decision) waitsForCure(o *pod, c *candidate) bool {
	if !c.live || o == c.pod {
		return false
	}
	for i := range c.hosts {
		if h := &c.hosts[i]; h.notDown < h.total && d.cannotSpare(h.group, o) {
			return true
		}
	}
	return false
}

// cannotSpare: the group would have too few members without the pod's, none, or none that
// may lead.
func (d *decision) cannotSpare(at int32, o *pod) bool {
	g := &d.x.groups[at]
	for i := range o.hosts {
		h := &o.hosts[i]
		if h.group != at || h.notDown == 0 {
			continue
		}
		left, eligible := g.available, g.eligible
		if o.counted && !d.isChosen[o.at] {
			left -= g.loss(o.at, h)
			eligible -= h.eligible
		}
		tooFew := left < g.least || left <= 0 || g.NeedsLeader && eligible <= 0
		return tooFew && !g.unprotectable(g.units(o.at, h))
	}
	return false
}

// hasBroken: a copy on it is.
func (c *candidate) hasBroken() bool {
	return c.live && slices.ContainsFunc(c.hosts, func(h hosting) bool { return h.notDown < h.total })
}

// lowerWaitForCure: all pods of a lower rank that are out of date, or away, wait for it.
func (d *decision) lowerWaitForCure(c *candidate) bool {
	if !c.hasBroken() {
		return false
	}
	for i := range d.order {
		o := &d.order[i]
		if o.rolls() && o.rank < c.rank && !(c.serves && !o.away) && !d.waitsForCure(o.pod, c) {
			return false
		}
	}
	for i := range d.x.pods {
		if p := &d.x.pods[i]; p.away && p.desired && p.rank < c.rank && !d.waitsForCure(p, c) {
			return false
		}
	}
	return true
}
