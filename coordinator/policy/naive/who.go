package naive

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Section "Who should go, and why", and "Action and prepare".

// candidate is a pod that should go.
type candidate struct {
	*policy.Pod
	reason  policy.Reason
	broken  bool
	dead    bool
	outside bool // of the budget
	action  policy.Action
	prepare policy.Prepare
	lost    bool // its data
	leaves  bool
	target  *int32
	// toReplace, and only for the update.
	forUpdate bool
}

// goesForGood: remove, not desired, or with an ordinal of at least start + scalingTo.
func (w *world) goesForGood(p *policy.Pod) bool {
	pool := w.pool(p)
	return p.Remove || !w.desired(p) ||
		pool.ScalingTo != nil && int64(p.Ordinal) >= int64(pool.Start)+int64(*pool.ScalingTo)
}

// toBeLeft: nodeDrains.follow, and the node is cordoned or has a taint of nodeDrains.taints.
func (w *world) toBeLeft(p *policy.Pod) bool {
	drains, node := w.spec.Update.NodeDrains, w.node(p)
	if !drains.Follow || node == nil {
		return false
	}
	return node.Cordoned || slices.ContainsFunc(node.Taints, func(t policy.Taint) bool {
		return slices.Contains(drains.Taints, t.Key)
	})
}

// reason: the first that is true; empty without one.
func (w *world) reason(p *policy.Pod) policy.Reason {
	pool := w.pool(p)
	switch {
	case !w.knownPool(p):
		return "" // that makes no sense
	case p.Phase == policy.Missing:
		if !w.goesForGood(p) && !w.marked(p) && w.hasFailed(p) {
			return policy.ReasonReplacement
		}
		return ""
	case w.goesForGood(p):
		return policy.ReasonScaleDown
	case w.marked(p) || w.forced(p) || w.hasFailed(p):
		return policy.ReasonReplacement
	case p.Restart:
		return policy.ReasonRestartRequested
	case w.outdated(p):
		return policy.ReasonOutdated
	case !p.Agent && pool.Agents:
		return policy.ReasonAdopt
	case w.toBeLeft(p):
		return policy.ReasonNodeDrain
	}
	return ""
}

// candidate is nil when the pod should not go.
func (w *world) candidate(p *policy.Pod) *candidate {
	c := &candidate{Pod: p, reason: w.reason(p)}
	evidence := w.evidence(p)
	switch c.reason {
	case "":
		return nil
	case policy.ReasonScaleDown:
		c.broken = evidence == policy.ReasonNeverStarted ||
			!p.Agent && p.Phase == policy.Started && !w.live(p) && w.overdue(p)
		c.outside = c.broken && !w.hosts(p)
	case policy.ReasonReplacement:
		c.broken = p.Phase == policy.Missing || evidence != ""
		c.outside = c.broken && w.takesNothingAway(p, true)
	case policy.ReasonRestartRequested, policy.ReasonOutdated, policy.ReasonNodeDrain:
		if evidence != "" {
			c.reason, c.broken = evidence, true
			c.outside = w.restartTakesNothingAway(p)
			c.dead = w.deadDatabase() && evidence == policy.ReasonFailed
		}
	}
	w.decideAction(c)
	return c
}

// restartTakesNothingAway: that a state is not known does not matter where the pod
// NeverStarted, or where the database is dead and the pod's data survives.
func (w *world) restartTakesNothingAway(p *policy.Pod) bool {
	unknownMatters := w.evidence(p) != policy.ReasonNeverStarted &&
		!(w.deadDatabase() && !w.restartLosesData(p))
	return w.takesNothingAway(p, unknownMatters)
}

func (w *world) hosts(p *policy.Pod) bool {
	return w.members(p, func(*policy.Member) bool { return true }) > 0
}

// members of all groups on the pod that are so.
func (w *world) members(p *policy.Pod, so func(*policy.Member) bool) int {
	n := 0
	for i := range w.s.Groups {
		for k := range w.s.Groups[i].Members {
			if m := &w.s.Groups[i].Members[k]; m.Pod == p.Name && so(m) {
				n++
			}
		}
	}
	return n
}

// restartLosesData: by drain.data, which is another where the node is to be left.
// In a shutdown nobody's data are lost.
func (w *world) restartLosesData(p *policy.Pod) bool {
	fate := w.spec.Drain.Data.Restart
	if w.toBeLeft(p) {
		fate = w.spec.Drain.Data.NodeDrain
	}
	return fate == policy.Lose && !w.shutdown(p)
}

// decideAction fills in the action, the prepare, and what goes with them.
func (w *world) decideAction(c *candidate) {
	pool := w.pool(c.Pod)
	switch c.reason {
	case policy.ReasonScaleDown:
		c.action, c.lost, c.leaves = policy.Remove, !w.shutdown(c.Pod), true
	case policy.ReasonReplacement:
		c.forUpdate = w.onlyForTheUpdate(c.Pod)
		c.action, c.lost, c.leaves = policy.Replace, !w.shutdown(c.Pod), !c.forUpdate
	default:
		c.action, c.lost, c.leaves = policy.Restart, w.restartLosesData(c.Pod), w.toBeLeft(c.Pod)
	}
	switch {
	case w.shutdown(c.Pod) || w.outage() && !c.lost: // nobody is left to take over
		c.prepare = policy.PrepareNone
	case c.action == policy.Replace:
		c.prepare = policy.PrepareEvacuate
	case c.outside || !c.Agent:
		c.prepare = policy.PrepareNone
	case c.lost:
		c.prepare = policy.PrepareEvacuate
	default:
		c.prepare = policy.PrepareHandoff
	}
	switch {
	case c.action == policy.Restart && w.outdated(c.Pod) && rolling(pool) && pool.Force:
		if !w.leftOpen(c.Pod) {
			c.action, c.target, c.prepare = policy.LowerPartition, new(int32), policy.PrepareNone
		}
	case c.action == policy.Restart && w.outdated(c.Pod) && w.byLine(pool) && !c.leaves && c.Ordinal < pool.Partition:
		ordinal := c.Ordinal
		c.action, c.target = policy.LowerPartition, &ordinal
	}
	if c.reason == policy.ReasonNodeDrain {
		switch c.prepare {
		case policy.PrepareEvacuate:
			c.action = policy.Evacuate
		case policy.PrepareHandoff:
			c.action = policy.Handoff
		}
	}
}

// isForced: a Restart of an outdated pod of a RollingUpdate pool with force.
func (w *world) isForced(c *candidate) bool {
	pool := w.pool(c.Pod)
	return (c.action == policy.Restart || c.action == policy.LowerPartition) &&
		w.outdated(c.Pod) && rolling(pool) && pool.Force
}

// freed by LowerPartition, and not forced.
func (w *world) freed(c *candidate) bool { return c.action == policy.LowerPartition && !w.isForced(c) }

// bringsNoUpdate: Remove, Replace of a pod that is not outdated, and any other that leaves
// and is not outdated.
func (w *world) bringsNoUpdate(c *candidate) bool {
	return c.action == policy.Remove || (c.action == policy.Replace || c.leaves) && !w.outdated(c.Pod)
}

// restores: a pod that is claimed and should not go any more, is neither Missing
// nor Terminating, has the claim's UID, and whose claim has not gone too far.
func (w *world) restores() []policy.Step {
	var steps []policy.Step
	for _, p := range w.pods {
		claim := w.claim(p)
		if claim == nil || w.candidate(p) != nil || p.Phase == policy.Missing || p.Phase == policy.Terminating ||
			claim.UID != p.UID {
			continue
		}
		switch claim.Phase {
		case policy.PhaseClaimed, policy.PhasePreparing, policy.PhasePrepared, policy.PhaseEmptied, policy.PhaseOpened:
			steps = append(steps, policy.Step{
				Pod: p.Name, UID: p.UID, Action: policy.Restore, Prepare: cmp.Or(claim.Prepare, policy.PrepareNone), Reason: claim.Reason,
			})
		}
	}
	return steps
}
