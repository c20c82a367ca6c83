package mysql

import "slices"

// upstream is what an agent has seen of the member that its server follows. A replica
// behind a replica looks the same whether its owner has made a chain, or its source
// has handed the role of primary over and was not left yet. Who has seen the source
// before can tell, or who took over from it.
type upstream struct {
	name string
	kind upstreamKind
	// moved: the server followed another one before, while this agent watched.
	moved bool
}

type upstreamKind uint8

const (
	upstreamUnknown upstreamKind = iota
	upstreamReplica
	upstreamPrimary
)

// see notes what is seen now, and answers whether the source is one of a chain: a
// replica since it was first seen as the source. One that takes writes, or follows
// nobody when it is first seen, is or was the primary, whatever it becomes.
func (u *upstream) see(v view) (chained bool) {
	source, member := v.sourceOf(v.self)
	if v.self.serves() && u.name != source.name() {
		*u = upstream{name: source.name(), moved: u.name != ""}
	}
	switch {
	case !v.self.serves() || !member || !source.serves():
	case source.allows():
		u.kind = upstreamPrimary
	case u.kind != upstreamUnknown:
	case source.state.Source != nil:
		u.kind = upstreamReplica
	default:
		u.kind = upstreamPrimary
	}
	return u.kind == upstreamReplica && (u.moved || !v.succeeded(u.name))
}

// succeeded: one that took over from the member says that some may still follow it.
func (v view) succeeded(name string) bool {
	return slices.ContainsFunc(v.others, func(m member) bool { return m.allows() && m.state.Predecessor == name })
}

// followed: all the others tell, and none follows the member any more.
func (v view) followed(predecessor string) bool {
	old, listed := v.find(predecessor)
	return listed && !slices.ContainsFunc(v.others, func(m member) bool { return !m.serves() || feeds(old, m) })
}
