package policy

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// If members of two versions do not talk to each other (EngineFacts.SameMinor), an outage in which
// only some pods go would leave two halves of a database. So all pods go to the new version, or
// none does.

// behind means that some pod would stay behind in such an outage.
type behind struct {
	held map[*cluster.Pod]bool // by something else
	why  string                // the first of them does
	only bool                  // pods stay behind only because they are held
	ends string
}

// partitionChanges reports for each pool whether its pods come back with a version to which the
// running one does not talk.
func (d *decision) partitionChanges() []bool {
	x := d.x
	changes := make([]bool, len(x.Pools))
	if !x.Outage() || !x.Snapshot.Cluster.Engine.SameMinor {
		return changes
	}
	pools, all := x.Running()
	for i := range x.Pools {
		next, ok := model.ParseEngineVersion(x.Pools[i].Version)
		stays := pools[i].Known && next.Compare(pools[i].Oldest.Version) == 0
		changes[i] = ok && d.outdated[i] && all.Known && !stays && !cluster.TalksTo(next, all)
	}
	return changes
}

// crosses reports whether the candidate comes back with such a version.
func (d *decision) crosses(c *candidate) bool {
	return d.crossing[c.PoolPos] && cluster.IsOutdated(c.Pod) && !c.bringsNoUpdate()
}

// leftBehind looks for pods that would not go along, unless one is going already. They run, and are
// held, or come back on another version, or do not have to go.
func (d *decision) leftBehind() *behind {
	var first *candidate
	goes := map[*cluster.Pod]bool{}
	for i := range d.order {
		c := &d.order[i]
		if !d.crosses(c) {
			continue
		}
		if c.Claim != nil {
			return nil
		}
		goes[c.Pod] = true
		if first == nil || c.PoolPos < first.PoolPos {
			first = c
		}
	}
	if first == nil {
		return nil
	}
	to, _ := model.ParseEngineVersion(first.OwnPool.Version)
	held := d.trial().askAll()
	b := &behind{held: map[*cluster.Pod]bool{}, only: true}
	for i := range d.order {
		c := &d.order[i]
		next, _ := model.ParseEngineVersion(c.OwnPool.Version)
		switch h := held[i]; {
		case !goes[c.Pod] || !d.x.Stands(c.Pod):
		case h.Rule != "" && d.begun:
		case h.Rule != "":
			b.held[c.Pod] = true
			b.add(c.Pod, fmt.Sprintf("held by %s: %s", h.Rule, h.Reason), h.Unblocks)
		case next.Line() != to.Line():
			b.only = false
			b.add(c.Pod, "to come back with "+c.OwnPool.Version, "another version in the template of "+c.OwnPool.Name)
		}
	}
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		if !d.x.Stands(p) || !p.Live || cluster.IsOutdated(p) || cluster.GoesForGood(p) || p.OwnReport == nil {
			continue
		}
		if runs, ok := model.ParseEngineVersion(p.OwnReport.EngineVersion); ok && runs.Line() != to.Line() {
			b.only = false
			b.add(p, "to stay on "+p.OwnReport.EngineVersion, "the new version in the template of "+p.OwnPool.Name)
		}
	}
	if b.why == "" {
		return nil
	}
	return b
}

func (b *behind) add(p *cluster.Pod, why, ends string) {
	if b.why == "" {
		b.why, b.ends = p.Name+" is "+why, ends
	}
}

// allAtOnce holds the pods that would go along while others would not. A pod that something else
// holds keeps that hold.
func (d *decision) allAtOnce(c *candidate) *finding {
	if d.behind == nil || !d.crosses(c) || d.behind.held[c.Pod] && !d.curing {
		return nil
	}
	f := found(fmt.Sprintf("%s; members of another minor version than %s do not talk to each other, so all go at once or none does", d.behind.why, c.OwnPool.Version), d.behind.ends)
	f.others = d.behind.only
	return f
}
