package policy

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// An outage is approved for all pods of a revision. If it is interrupted halfway, it leaves two
// halves that may not talk to each other, and neither is a working database, so waiting does not
// help. So once an outage has begun, the other pods follow, and are held only by what people
// ordered or by what prevents the removal itself.

// outageBegun reports whether a pod has gone by a claim of the outage; or the database does not
// work, or none of the others is live, and at least half of the pods are updated, or one is and
// others are claimed for it.
func (d *decision) outageBegun() bool {
	x := d.x
	if !x.Outage() {
		return false
	}
	through, left := 0, 0
	alive, gone, claimed := false, false, false
	for i := range x.Pods {
		p := &x.Pods[i]
		switch {
		case !p.Desired || !p.OwnPool.Observed || p.OwnPool.Revision == "":
			continue
		case cluster.IsOutdated(p):
			left++
			alive = alive || p.Live
			claimed = claimed || p.Claim != nil && p.Claim.Reason == model.ReasonOutdated
		case p.Phase != model.PodPhaseMissing:
			through++
		}
		gone = gone || p.Claim != nil && p.Claim.Reason == model.ReasonOutdated && p.Left()
	}
	verdict := healthRank[x.Snapshot.Health.Verdict]
	down := verdict == 0 || verdict == healthRank[model.VerdictRed]
	most := through >= left || claimed && through > 0
	return left > 0 && (gone || most && (down || !alive))
}

// YetToFollow returns the pods that have yet to go in an outage that has begun, and that the
// updated ones may need to come back.
func YetToFollow(s model.Snapshot) []string {
	d := newDecision(&s, "", false)
	var names []string
	for i := range d.order {
		if c := &d.order[i]; d.follows(c) && (c.Claim == nil || !c.Left()) {
			names = append(names, c.Name)
		}
	}
	return names
}

// follows reports whether the candidate goes along in an outage that has begun. A volume is given
// up only if the database can be asked.
func (d *decision) follows(c *candidate) bool {
	return d.begun && cluster.IsOutdated(c.Pod) && !c.bringsNoUpdate() && !c.lost && !c.leaves
}

// allFollow reports whether no pod is held by a rule that spares those that follow.
func (d *decision) allFollow() bool {
	for i := range d.order {
		if !d.follows(&d.order[i]) {
			return false
		}
	}
	return d.begun
}

// cannotJoin reports whether the pod runs in one half of a database whose versions do not talk to
// each other. That it is not live is no evidence against its revision before the others have
// followed.
func (d *decision) cannotJoin(p *cluster.Pod) bool {
	return d.begun && d.x.Snapshot.Cluster.Engine.SameMinor && (p.Phase == model.PodPhaseStarted || p.Phase == model.PodPhaseReady) && !cluster.Loops(p.Problem)
}
