package naive

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "The order".

// candidates returns all pods that should go, in order.
func (w *world) candidates() []*candidate {
	var all []*candidate
	for _, p := range w.pods {
		if c := w.candidate(p); c != nil {
			all = append(all, c)
		}
	}
	keys := make(map[*candidate][]int)
	for _, c := range all {
		keys[c] = w.keys(c, all)
	}
	slices.SortFunc(all, func(a, b *candidate) int {
		return cmp.Or(slices.Compare(keys[a], keys[b]), cmp.Compare(a.UID, b.UID), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// keys returns the keys of the order. The first that differs decides.
func (w *world) keys(c *candidate, all []*candidate) []int {
	place := slices.Index(w.pods, c.Pod)
	switch {
	case c.dead: // among the dead only the order of the pods counts
		return []int{1, 0, 0, 0, 0, 0, 0, 0, place}
	case c.broken:
		return append([]int{0}, w.otherKeys(c, all, place)...)
	}
	return append([]int{2}, w.otherKeys(c, all, place)...)
}

func (w *world) otherKeys(c *candidate, all []*candidate, place int) []int {
	return []int{
		w.rank(c.Pod),
		lowerFirst(last(c.Pod)),
		lowerFirst(w.live(c.Pod)),
		lowerFirst(!w.unitHasBegun(c, all)),
		w.members(c.Pod, func(m *model.Member) bool { return m.Leader }),
		w.members(c.Pod, func(m *model.Member) bool { return serving(m) || m.State == model.MemberRecovering }),
		w.members(c.Pod, func(*model.Member) bool { return true }),
		place,
	}
}

// lowerFirst returns the key for a condition: false goes first.
func lowerFirst(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Section "Units".

// unitOf returns what goes together with a pod.
func (w *world) unitOf(p *model.Pod) string {
	switch w.unit() {
	case model.UnitAll:
		return "all"
	case model.UnitZone:
		if zone := w.zone(p); zone != "" {
			return "zone " + zone + " unit " + p.Unit
		}
	}
	return fmt.Sprintf("pod %s at %d", p.Name, p.Ordinal)
}

// largestUnit returns the number of desired pods of the largest unit.
func (w *world) largestUnit() int {
	largest := 0
	for _, p := range w.pods {
		largest = max(largest, w.unitSize(p))
	}
	return largest
}

// unitSize returns the number of desired pods of the pod's unit.
func (w *world) unitSize(p *model.Pod) int {
	n := 0
	for _, q := range w.pods {
		if w.desired(q) && w.unitOf(q) == w.unitOf(p) {
			n++
		}
	}
	return n
}

// unitHasBegun reports whether one of its desired pods is claimed, or not in the order, in a pool
// through which something is rolled.
func (w *world) unitHasBegun(c *candidate, all []*candidate) bool {
	if w.unit() != model.UnitZone || w.zone(c.Pod) == "" {
		return false
	}
	for _, p := range w.pods {
		if w.unitOf(p) != w.unitOf(c.Pod) || !w.desired(p) || !w.rolledThrough(p.Pool, all) {
			continue
		}
		if w.claimed(p) || find(all, p) == nil {
			return true
		}
	}
	return false
}

// rolledThrough reports whether a pool has a pod in the order that is outdated or requested to
// restart and not scaled down.
func (w *world) rolledThrough(pool string, all []*candidate) bool {
	return slices.ContainsFunc(all, func(c *candidate) bool {
		return c.Pool == pool && (w.outdated(c.Pod) || c.Restart) && c.reason != model.ReasonScaleDown
	})
}

func find(all []*candidate, p *model.Pod) *candidate {
	for _, c := range all {
		if c.Pod == p {
			return c
		}
	}
	return nil
}

// together returns the pods of its unit that were not asked about yet and, except for All, have its
// rank and its last; in the order or, if one of them is to be freed by LowerPartition, in the order
// of the pods.
func (w *world) together(c *candidate) []*candidate {
	var unit []*candidate
	for _, q := range w.order {
		if q != c && (w.asked[q] || w.unitOf(q.Pod) != w.unitOf(c.Pod)) {
			continue
		}
		if w.outage() || w.rank(q.Pod) == w.rank(c.Pod) && last(q.Pod) == last(c.Pod) {
			unit = append(unit, q)
		}
	}
	if slices.ContainsFunc(unit, func(q *candidate) bool { return q.action == model.ActionLowerPartition }) {
		w.sortByPods(unit)
	}
	return unit
}

// sortByPods puts candidates into the order of the pods.
func (w *world) sortByPods(all []*candidate) {
	slices.SortFunc(all, func(a, b *candidate) int {
		return cmp.Compare(slices.Index(w.pods, a.Pod), slices.Index(w.pods, b.Pod))
	})
}
