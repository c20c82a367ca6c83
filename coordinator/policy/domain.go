package policy

import "slices"

// domains count what a group of which members fail together has of each domain.
// A domain is available while all of its members are; who has none is one by itself.
type domains struct {
	missing []int32           // by domain: members that are not available
	onPod   map[int32][]int32 // by pod: the domains of its members
	serving map[int32][]int32 // by pod: those of its available members, once each member
}

// inDomains: members of the group may fail together.
func (g *Group) inDomains() bool {
	return slices.ContainsFunc(g.Members, func(m Member) bool { return m.Domain != "" })
}

// countDomains replaces what was counted of members by what there is of domains.
func (c *counter) countDomains(g *group) {
	d := &domains{onPod: map[int32][]int32{}, serving: map[int32][]int32{}}
	named := map[string]int32{}
	for j := range g.Members {
		m := &g.Members[j]
		in, known := named[m.Domain]
		if !known || m.Domain == "" {
			in = int32(len(d.missing))
			d.missing = append(d.missing, 0)
			named[m.Domain] = in
		}
		at := c.x.placeOf(g, j)
		if at >= 0 && !slices.Contains(d.onPod[at], in) {
			d.onPod[at] = append(d.onPod[at], in)
		}
		if isAvailable(m.State) && (at == elsewhere || at >= 0 && c.pods[at].on) {
			d.serving[at] = append(d.serving[at], in)
		} else {
			d.missing[in]++
		}
	}
	g.domains, g.total, g.available = d, int32(len(d.missing)), 0
	for _, n := range d.missing {
		g.available += int32(count(n == 0))
	}
}

// units is how many of what the group counts a pod has: domains, or members.
func (g *group) units(at int32, h *hosting) int32 {
	if g.domains == nil {
		return h.total
	}
	return int32(len(g.domains.onPod[at]))
}

// loss is how many of them would be missing more without the pod, which is counted on.
func (g *group) loss(at int32, h *hosting) int32 {
	if g.domains == nil {
		return h.available
	}
	n := int32(0)
	for i, in := range g.domains.serving[at] {
		n += int32(count(g.domains.missing[in] == 0 && !slices.Contains(g.domains.serving[at][:i], in)))
	}
	return n
}

// lose takes them away.
func (g *group) lose(at int32, h *hosting) {
	g.available -= g.loss(at, h)
	g.eligible -= h.eligible
	if g.domains != nil {
		for _, in := range g.domains.serving[at] {
			g.domains.missing[in]++
		}
	}
}

// noun is what the group counts.
func (g *group) noun() string {
	if g.domains != nil {
		return "domains"
	}
	return "members"
}
