package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"

// unitKey says which pods go together. Pods that nothing is known of go alone.
type unitKey struct{ zone, narrowed string }

// unitName is what the steps of one unit share: the annotation that narrows a
// zone, or the zone itself.
func (k unitKey) name() string {
	if k.narrowed != "" {
		return k.narrowed
	}
	return k.zone
}

// allPods is the unit of an announced outage.
var allPods = unitKey{narrowed: string(model.UnitAll)}

// unitOf is the unit of a pod, empty when it goes alone.
func (x *index) unitOf(p *pod) unitKey {
	switch x.spec.Policy.Unit {
	case model.UnitZone:
		if p.zone == "" {
			return unitKey{}
		}
		return unitKey{zone: p.zone, narrowed: p.Unit}
	case model.UnitAll:
		return allPods
	}
	return unitKey{}
}

// byUnit: pods go by units of more than one.
func (x *index) byUnit() bool { return x.spec.Policy.Unit != model.UnitPod }

// outage: everything goes at once, because a person announced and approved it.
func (x *index) outage() bool { return x.spec.Policy.Unit == model.UnitAll }

// unitSizes are the numbers of desired pods of the units; as many may be away of
// one, or no unit could ever go.
func (x *index) unitSizes() map[unitKey]int {
	if !x.byUnit() {
		return nil
	}
	sizes := map[unitKey]int{}
	for i := range x.pods {
		if p := &x.pods[i]; p.desired && p.unit != (unitKey{}) {
			sizes[p.unit]++
		}
	}
	return sizes
}

// begun are the units of which some pod is claimed, or has nothing to do any more while
// a change is being rolled through its pool: a unit whose pods cannot all go at once is
// finished before the next begins.
func (x *index) begun(candidates []candidate) map[unitKey]bool {
	if !x.byUnit() {
		return nil
	}
	goes, pools := make([]bool, len(x.pods)), make([]bool, len(x.pools))
	for i := range candidates {
		c := &candidates[i]
		goes[c.at] = true
		pools[c.poolPos] = pools[c.poolPos] || c.reason != model.ReasonScaleDown && (isOutdated(c.pod) || c.Restart)
	}
	units := map[unitKey]bool{}
	for i := range x.pods {
		if p := &x.pods[i]; p.desired && p.unit != (unitKey{}) && pools[p.poolPos] && (!goes[i] || p.claim != nil) {
			units[p.unit] = true
		}
	}
	return units
}

// together are the candidates that are considered with the one at a place: the
// rest of its unit that was not asked yet, as far as its rank and its going
// last allow.
func (d *decision) together(at int, asked []bool) []*candidate {
	c := &d.order[at]
	list := []*candidate{c}
	if c.unit == (unitKey{}) {
		return list
	}
	for i := at + 1; i < len(d.order); i++ {
		o := &d.order[i]
		if !asked[i] && o.unit == c.unit && (d.x.outage() || o.rank == c.rank && o.last == c.last) {
			list = append(list, o)
		}
	}
	sortByOrdinal(list)
	return list
}

// cost is how many pods a unit adds to those that are away. The limit has room for all
// desired pods of a unit: one that is scaled away goes when there is room for it as well,
// and holds up none of those.
func cost(unit []*candidate) int {
	n := 0
	for _, c := range unit {
		n += count(!c.away && !c.outside && c.desired)
	}
	return n
}
