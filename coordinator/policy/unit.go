package policy

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// begun returns the units of which some pod is claimed, or has nothing left to do while a change is
// being rolled through its pool. A unit whose pods cannot all go at once is finished before the
// next begins.
func begun(x *cluster.Index, candidates []candidate) map[cluster.Unit]bool {
	if !x.ByUnit() {
		return nil
	}
	goes, pools := make([]bool, len(x.Pods)), make([]bool, len(x.Pools))
	for i := range candidates {
		c := &candidates[i]
		goes[c.At] = true
		pools[c.PoolPos] = pools[c.PoolPos] || c.reason != model.ReasonScaleDown && (cluster.IsOutdated(c.Pod) || c.Restart)
	}
	units := map[cluster.Unit]bool{}
	for i := range x.Pods {
		if p := &x.Pods[i]; p.Desired && p.OwnUnit != (cluster.Unit{}) && pools[p.PoolPos] && (!goes[i] || p.Claim != nil) {
			units[p.OwnUnit] = true
		}
	}
	return units
}

// together returns the candidates that are considered with the one at a place: the rest of its unit
// that was not asked about yet, as far as its rank and its going last allow.
func (d *decision) together(at int, asked []bool) []*candidate {
	c := &d.order[at]
	list := []*candidate{c}
	if c.OwnUnit == (cluster.Unit{}) {
		return list
	}
	for i := at + 1; i < len(d.order); i++ {
		o := &d.order[i]
		if !asked[i] && o.OwnUnit == c.OwnUnit && (d.x.Outage() || o.Rank == c.Rank && o.Last == c.Last) {
			list = append(list, o)
		}
	}
	sortByOrdinal(list)
	return list
}

// cost returns how many pods a unit adds to the unavailable ones. The limit has room for all
// desired pods of a unit. A pod that is scaled down goes if there is room for it as well, and holds
// up none of the others.
func cost(unit []*candidate) int {
	n := 0
	for _, c := range unit {
		n += cluster.Count(!c.Unavailable && !c.outside && c.Desired)
	}
	return n
}
