package policy

import (
	"cmp"
	"slices"
)

// sortCandidates puts candidates into the order in which they are considered,
// a strict total order of numbers.
func sortCandidates(list []candidate) {
	slices.SortFunc(list, func(a, b candidate) int { return compareCandidates(&a, &b) })
	for i := range list {
		list[i].place = i
	}
}

func compareCandidates(a, b *candidate) int {
	if c := first(a.broken, b.broken); c != 0 {
		return c
	}
	if c := first(!a.dead, !b.dead); c != 0 {
		return c
	}
	if a.dead {
		return compareInPool(a.pod, b.pod) // nobody leads, nobody serves
	}
	if c := cmp.Compare(a.rank(), b.rank()); c != 0 {
		return c
	}
	if c := first(!a.goesLast(), !b.goesLast()); c != 0 {
		return c
	}
	if c := first(!a.live, !b.live); c != 0 {
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
	return compareInPool(a.pod, b.pod)
}

// first orders what is true before what is not.
func first(a, b bool) int { return count(b) - count(a) }

// rank is the lowest while nothing is known.
func (p *pod) rank() int {
	if p.report == nil {
		return 0
	}
	return p.report.Rank
}

func (p *pod) goesLast() bool { return p.report != nil && p.report.Last }
