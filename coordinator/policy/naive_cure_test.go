package policy

import "slices"

// needsCure: a group has too few without o, because of a broken copy on p.
func (n *naive) needsCure(o, p *Pod) bool {
	if !n.alive(p) || o.Name == p.Name {
		return false
	}
	return slices.ContainsFunc(n.groups(), func(g Group) bool {
		broken := slices.ContainsFunc(g.Members, func(m Member) bool { return m.Pod == p.Name && m.State == Down })
		needed := slices.ContainsFunc(g.Members, func(m Member) bool { return m.Pod == o.Name && m.State != Down })
		return broken && needed && !n.inVain(g, o) && n.whole(g, append([]string{o.Name}, n.chosen...)) < n.needs(g)
	})
}
