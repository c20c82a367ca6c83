package cluster

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// domains count the failure domains of a group, if it has any. A domain is available while all of
// its members are, because each may have what the others have not; of holders of a role any will
// do. A member without a domain is a domain of its own.
type domains struct {
	left    []int32           // by domain: how many of its available members can go before it is unavailable; 0 or less if it is
	onPod   map[int32][]int32 // by pod: the domains that become unavailable with it alone
	serving map[int32][]int32 // by pod: those of its available members, once each member
}

// inDomains reports whether members of the group may fail together.
func (g *Group) inDomains() bool {
	return slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.Domain != "" })
}

// countDomains replaces the counts of members by counts of domains.
func (c *counter) countDomains(g *Group) {
	d := &domains{onPod: map[int32][]int32{}, serving: map[int32][]int32{}}
	named := map[string]int32{}
	var places [][]int32 // by domain
	for j := range g.Members {
		m := &g.Members[j]
		in, known := named[m.Domain]
		if !known || m.Domain == "" {
			in = int32(len(d.left))
			d.left, places = append(d.left, int32(Count(g.Kind != model.GroupRole))), append(places, nil)
			named[m.Domain] = in
		}
		at := c.x.PlaceOf(g, j)
		if !slices.Contains(places[in], at) {
			places[in] = append(places[in], at)
		}
		serves := IsAvailable(m.State) && (at == Elsewhere || at >= 0 && c.pods[at].on)
		switch {
		case serves:
			d.serving[at] = append(d.serving[at], in)
			d.left[in] += int32(Count(g.Kind == model.GroupRole))
		case g.Kind != model.GroupRole:
			d.left[in]--
		}
	}
	g.Domains, g.Total, g.Available = d, int32(len(d.left)), 0
	for in, n := range d.left {
		g.Available += int32(Count(n > 0))
		for _, at := range places[in] {
			if g.Kind != model.GroupRole || len(places[in]) == 1 {
				d.onPod[at] = append(d.onPod[at], int32(in))
			}
		}
	}
}

// Units returns how many of what the group counts a pod has: domains, or members.
func (g *Group) Units(at int32, h *Hosting) int32 {
	if g.Domains == nil {
		return h.Total
	}
	return int32(len(g.Domains.onPod[at]))
}

// Loss returns how many more of them would be missing without the pod, which is counted on.
func (g *Group) Loss(at int32, h *Hosting) int32 {
	if g.Domains == nil {
		return h.available
	}
	n := int32(0)
	serving := g.Domains.serving[at]
	for i, in := range serving {
		if left := g.Domains.left[in]; left > 0 && !slices.Contains(serving[:i], in) {
			n += int32(Count(left <= times(serving, in)))
		}
	}
	return n
}

func times(all []int32, one int32) (n int32) {
	for _, v := range all {
		n += int32(Count(v == one))
	}
	return n
}

// lose subtracts them.
func (g *Group) lose(at int32, h *Hosting) {
	g.Available -= g.Loss(at, h)
	g.Eligible -= h.Eligible
	if g.Domains != nil {
		for _, in := range g.Domains.serving[at] {
			g.Domains.left[in]--
		}
	}
}

// Noun names what the group counts.
func (g *Group) Noun() string {
	if g.Domains != nil {
		return "domains"
	}
	return "members"
}
