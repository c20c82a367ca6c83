package topology

import "slices"

// Upstream is what an agent has seen of the member that its server follows. A replica
// behind a replica looks the same whether its owner has made a chain, or its source
// has handed the role of primary over and was not left yet. Who has seen the source
// before can tell, or who took over from it.
type Upstream struct {
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

// See notes what is seen now, and answers whether the source is one of a chain: a
// replica since it was first seen as the source. One that takes writes, or follows
// nobody when it is first seen, is or was the primary, whatever it becomes.
func (u *Upstream) See(v View) (chained bool) {
	source, member := v.SourceOf(v.Self)
	if v.Self.Serves() && u.name != source.Name() {
		*u = Upstream{name: source.Name(), moved: u.name != ""}
	}
	switch {
	case !v.Self.Serves() || !member || !source.Serves():
	case source.Allows():
		u.kind = upstreamPrimary
	case u.kind != upstreamUnknown:
	case source.State.Source != nil:
		u.kind = upstreamReplica
	default:
		u.kind = upstreamPrimary
	}
	return u.kind == upstreamReplica && (u.moved || !v.succeeded(u.name))
}

// succeeded: one that took over from the member says that some may still follow it.
func (v View) succeeded(name string) bool {
	return slices.ContainsFunc(v.Others, func(m Member) bool { return m.Allows() && m.State.Predecessor == name })
}

// Followed: all the others tell, and none follows the member any more.
func (v View) Followed(predecessor string) bool {
	old, listed := v.Find(predecessor)
	return listed && !slices.ContainsFunc(v.Others, func(m Member) bool { return !m.Serves() || Feeds(old, m) })
}
