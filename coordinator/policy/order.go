package policy

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// sorted is the candidates in the order in which they are considered, a strict
// total order of numbers. Keys are sorted rather than candidates, which are
// large and say little without their pods.
func sorted(x *cluster.Index, list []candidate) []candidate {
	keys := make([]sortKey, len(list))
	begun := begun(x, list)
	for i := range list {
		keys[i] = list[i].sortKey(int32(i), begun[list[i].OwnUnit])
	}
	slices.SortFunc(keys, func(a, b sortKey) int { return a.compare(&b) })
	ordered := make([]candidate, len(list))
	for i := range keys {
		ordered[i] = list[keys[i].from]
		ordered[i].place = i
	}
	return ordered
}

// sortKey is what places a candidate; lower goes first, the first difference
// decides.
type sortKey struct {
	kind                   uint8 // broken by itself, before all others; dead ones after other broken ones
	late                   uint8 // those that go last after all others of their rank, and live after not live
	unit                   uint8 // a unit that has begun is finished first
	leaders, busy, members int32
	at                     int32 // the place in the index, which orders pods when nothing else does
	from                   int32 // where the candidate was before
	rank                   int
}

func (c *candidate) sortKey(from int32, begun bool) sortKey {
	k := sortKey{kind: uint8(2*cluster.Count(!c.broken) + cluster.Count(c.dead)), at: c.At, from: from}
	if c.dead {
		return k // nobody leads, nobody serves
	}
	k.rank, k.late, k.unit = c.Rank, uint8(2*cluster.Count(c.Last)+cluster.Count(c.Live)), uint8(cluster.Count(!begun))
	k.leaders, k.busy, k.members = c.Leaders, c.Busy, c.Members
	return k
}

func (a *sortKey) compare(b *sortKey) int {
	if c := cmp.Compare(a.kind, b.kind); c != 0 {
		return c
	}
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	if c := cmp.Compare(a.late, b.late); c != 0 {
		return c
	}
	if c := cmp.Compare(a.unit, b.unit); c != 0 {
		return c
	}
	if c := cmp.Compare(a.leaders, b.leaders); c != 0 {
		return c
	}
	if c := cmp.Compare(a.busy, b.busy); c != 0 {
		return c
	}
	if c := cmp.Compare(a.members, b.members); c != 0 {
		return c
	}
	return cmp.Compare(a.at, b.at)
}
