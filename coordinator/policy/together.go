package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "fmt"

// Where members of two versions do not talk to each other (EngineFacts.SameMinor), an outage in which only some pods
// go would leave two databases that are none. So all go to the new one, or nobody does.

// behind is that somebody would stay behind in such an outage.
type behind struct {
	held map[*pod]bool // by something else
	why  string        // the first of them does
	only bool          // nobody stays behind but for being held
	ends string
}

// changesLine tells of each pool whether its pods come back with a version to which what runs now does not talk.
func (d *decision) changesLine() []bool {
	x := d.x
	changes := make([]bool, len(x.pools))
	if !x.outage() || !x.s.Cluster.Engine.SameMinor {
		return changes
	}
	pools, all := x.running()
	for i := range x.pools {
		next, ok := model.ParseEngineVersion(x.pools[i].Version)
		stays := pools[i].known && next.Compare(pools[i].oldest.version) == 0
		changes[i] = ok && d.outdated[i] && all.known && !stays && !talksTo(next, all)
	}
	return changes
}

// crosses: the candidate comes back with such a version.
func (d *decision) crosses(c *candidate) bool {
	return d.crossing[c.poolPos] && isOutdated(c.pod) && !c.bringsNoUpdate()
}

// leftBehind looks for those who would not go along, unless somebody is on the way already. They run, and
// are held, or come back on another version, or need not go.
func (d *decision) leftBehind() *behind {
	var first *candidate
	goes := map[*pod]bool{}
	for i := range d.order {
		c := &d.order[i]
		if !d.crosses(c) {
			continue
		}
		if c.claim != nil {
			return nil
		}
		goes[c.pod] = true
		if first == nil || c.poolPos < first.poolPos {
			first = c
		}
	}
	if first == nil {
		return nil
	}
	to, _ := model.ParseEngineVersion(first.pool.Version)
	held := d.trial().askAll()
	b := &behind{held: map[*pod]bool{}, only: true}
	for i := range d.order {
		c := &d.order[i]
		next, _ := model.ParseEngineVersion(c.pool.Version)
		switch h := held[i]; {
		case !goes[c.pod] || !d.x.stands(c.pod):
		case h.Rule != "" && d.begun:
		case h.Rule != "":
			b.held[c.pod] = true
			b.add(c.pod, fmt.Sprintf("held by %s: %s", h.Rule, h.Reason), h.Unblocks)
		case next.Line() != to.Line():
			b.only = false
			b.add(c.pod, "to come back with "+c.pool.Version, "another version in the template of "+c.pool.Name)
		}
	}
	for i := range d.x.pods {
		p := &d.x.pods[i]
		if !d.x.stands(p) || !p.live || isOutdated(p) || goesForGood(p) || p.report == nil {
			continue
		}
		if runs, ok := model.ParseEngineVersion(p.report.EngineVersion); ok && runs.Line() != to.Line() {
			b.only = false
			b.add(p, "to stay on "+p.report.EngineVersion, "the new version in the template of "+p.pool.Name)
		}
	}
	if b.why == "" {
		return nil
	}
	return b
}

func (b *behind) add(p *pod, why, ends string) {
	if b.why == "" {
		b.why, b.ends = p.Name+" is "+why, ends
	}
}

// stands: it runs, and is not on its way.
func (x *index) stands(p *pod) bool {
	return runs(p.Phase) && p.Phase != model.Terminating && !x.nodeGone(p)
}

// allAtOnce holds who would go along, while others would not. Who is held by something else keeps that hold.
func (d *decision) allAtOnce(c *candidate) *finding {
	if d.behind == nil || !d.crosses(c) || d.behind.held[c.pod] && !d.curing {
		return nil
	}
	f := found(fmt.Sprintf("%s; members of another minor version than %s do not talk to each other, so all go at once or none does", d.behind.why, c.pool.Version), d.behind.ends)
	f.others = d.behind.only
	return f
}
