package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"

// An outage is approved for all pods of a revision. Interrupted halfway it leaves two halves, which may not
// talk to each other, and neither is a database: waiting helps nobody. So once it has begun, the
// others follow, and only what people ordered, or what is in the way of the removal itself, holds them.

// outageBegun: a pod has gone by a claim of it; or the database does not work, or has none of the others, and at
// least half are through, or one is and others are claimed for it.
func (d *decision) outageBegun() bool {
	x := d.x
	if !x.outage() {
		return false
	}
	through, left := 0, 0
	alive, gone, claimed := false, false, false
	for i := range x.pods {
		p := &x.pods[i]
		switch {
		case !p.desired || !p.pool.Observed || p.pool.Revision == "":
			continue
		case isOutdated(p):
			left++
			alive = alive || p.live
			claimed = claimed || p.claim != nil && p.claim.Reason == model.ReasonOutdated
		case p.Phase != model.Missing:
			through++
		}
		gone = gone || p.claim != nil && p.claim.Reason == model.ReasonOutdated && p.left()
	}
	verdict := healthRank[x.s.Health.Verdict]
	down := verdict == 0 || verdict == healthRank[model.Red]
	most := through >= left || claimed && through > 0
	return left > 0 && (gone || most && (down || !alive))
}

// YetToFollow are the pods that have yet to go in an outage that has begun, and that those which have gone may
// need to come back.
func YetToFollow(s model.Snapshot) []string {
	d := newDecision(&s, "", false)
	var names []string
	for i := range d.order {
		if c := &d.order[i]; d.follows(c) && (c.claim == nil || !c.left()) {
			names = append(names, c.Name)
		}
	}
	return names
}

// left: the pod has been removed since it was claimed, or is being so.
func (p *pod) left() bool {
	c := p.claim
	return p.Phase == model.Missing || p.Phase == model.Terminating || c.UID != "" && p.UID != "" && c.UID != p.UID
}

// follows: the candidate goes along in an outage that has begun. A volume is given up only where the
// database can be asked.
func (d *decision) follows(c *candidate) bool {
	return d.begun && isOutdated(c.pod) && !c.bringsNoUpdate() && !c.lost && !c.leaves
}

// allFollow: rules that spare who follows hold nobody.
func (d *decision) allFollow() bool {
	for i := range d.order {
		if !d.follows(&d.order[i]) {
			return false
		}
	}
	return d.begun
}

// cannotJoin: it runs, in a half of a database whose versions do not talk to each other. That it is not live
// is no evidence against its revision before the others have followed.
func (d *decision) cannotJoin(p *pod) bool {
	return d.begun && d.x.s.Cluster.Engine.SameMinor && (p.Phase == model.Started || p.Phase == model.Ready) && !loops(p.Problem)
}
