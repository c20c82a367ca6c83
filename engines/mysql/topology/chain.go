package topology

import "slices"

// Upstream is what an agent has seen of its server's source. A replica of a replica looks the same
// whether its owner built a chain, or its source has handed over the role of primary and the
// replica has not moved yet. Only an agent that saw the source before, or took over from it, can
// tell.
type Upstream struct {
	name string
	kind upstreamKind
	// moved means that the server followed another one before, while this agent watched.
	moved bool
}

type upstreamKind uint8

const (
	upstreamUnknown upstreamKind = iota
	upstreamReplica
	upstreamPrimary
)

// See notes the source and reports whether it is part of a chain: a replica ever since it was first
// seen as the source. A source that takes writes, or follows nobody when first seen, is or was the
// primary, whatever it becomes.
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

// succeeded reports whether a member that took over from this one says that some replicas may still
// follow it.
func (v View) succeeded(name string) bool {
	return slices.ContainsFunc(v.Others, func(m Member) bool { return m.Allows() && m.State.Predecessor == name })
}

// Followed reports whether all other members are known, and none follows the predecessor any more.
func (v View) Followed(predecessor string) bool {
	old, listed := v.Find(predecessor)
	return listed && !slices.ContainsFunc(v.Others, func(m Member) bool { return !m.Serves() || Feeds(old, m) })
}
