package naive

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Who should go, and why", and "Action and prepare".

// candidate is a pod that should go.
type candidate struct {
	*model.Pod
	reason  model.Reason
	broken  bool
	dead    bool
	outside bool // of the budget
	action  model.Action
	prepare model.Prepare
	lost    bool // its data
	leaves  bool
	target  *int32
	// toReplace, and only for the update.
	forUpdate bool
}

// goesForGood reports whether remove, not desired, or with an ordinal of at least start +
// scalingTo.
func (w *world) goesForGood(p *model.Pod) bool {
	pool := w.pool(p)
	return p.Remove || !w.desired(p) ||
		pool.ScalingTo != nil && int64(p.Ordinal) >= int64(pool.Start)+int64(*pool.ScalingTo)
}

// toBeLeft reports whether nodeDrains.follow, and the node is cordoned or has a taint of
// nodeDrains.taints.
func (w *world) toBeLeft(p *model.Pod) bool {
	drains, node := w.spec.Update.NodeDrains, w.node(p)
	if !drains.Follow || node == nil {
		return false
	}
	return node.Cordoned || slices.ContainsFunc(node.Taints, func(t model.Taint) bool {
		return slices.Contains(drains.Taints, t.Key)
	})
}

// reason returns the first reason that applies. It is empty if none does.
func (w *world) reason(p *model.Pod) model.Reason {
	pool := w.pool(p)
	switch {
	case !w.knownPool(p):
		return "" // that makes no sense
	case p.Phase == model.PodPhaseMissing:
		if !w.goesForGood(p) && !w.marked(p) && w.hasFailed(p) {
			return model.ReasonReplacement
		}
		return ""
	case w.goesForGood(p):
		return model.ReasonScaleDown
	case w.marked(p) || w.forced(p) || w.hasFailed(p):
		return model.ReasonReplacement
	case p.Restart:
		return model.ReasonRestartRequested
	case w.outdated(p):
		return model.ReasonOutdated
	case !p.Agent && pool.Agents:
		return model.ReasonAdopt
	case w.toBeLeft(p):
		return model.ReasonNodeDrain
	}
	return ""
}

// candidate returns nil if the pod should not go.
func (w *world) candidate(p *model.Pod) *candidate {
	c := &candidate{Pod: p, reason: w.reason(p)}
	evidence := w.evidence(p)
	switch c.reason {
	case "":
		return nil
	case model.ReasonScaleDown:
		c.broken = evidence == model.ReasonNeverStarted ||
			!p.Agent && p.Phase == model.PodPhaseStarted && !w.live(p) && w.overdue(p)
		c.outside = c.broken && !w.hosts(p)
	case model.ReasonReplacement:
		c.broken = p.Phase == model.PodPhaseMissing || evidence != ""
		c.outside = c.broken && w.takesNothingAway(p, true)
	case model.ReasonRestartRequested, model.ReasonOutdated, model.ReasonNodeDrain:
		if evidence != "" {
			c.reason, c.broken = evidence, true
			c.outside = w.restartTakesNothingAway(p)
			c.dead = w.deadDatabase() && evidence == model.ReasonFailed
		}
	}
	w.decideAction(c)
	return c
}

// restartTakesNothingAway treats an unknown state as harmless if the pod NeverStarted, or the
// database is dead and the pod's data survives.
func (w *world) restartTakesNothingAway(p *model.Pod) bool {
	unknownMatters := w.evidence(p) != model.ReasonNeverStarted &&
		!(w.deadDatabase() && !w.restartLosesData(p))
	return w.takesNothingAway(p, unknownMatters)
}

func (w *world) hosts(p *model.Pod) bool {
	return w.members(p, func(*model.Member) bool { return true }) > 0
}

// members counts the members of all groups on the pod that fulfil a condition.
func (w *world) members(p *model.Pod, so func(*model.Member) bool) int {
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

// restartLosesData reports that by drain.data, which is another one if the node is to be left. In a
// shutdown no data is lost.
func (w *world) restartLosesData(p *model.Pod) bool {
	fate := w.spec.Drain.Data.Restart
	if w.toBeLeft(p) {
		fate = w.spec.Drain.Data.NodeDrain
	}
	return fate == model.DataLose && !w.shutdown(p)
}

// decideAction fills in the action, the drain, and what goes with them.
func (w *world) decideAction(c *candidate) {
	pool := w.pool(c.Pod)
	switch c.reason {
	case model.ReasonScaleDown:
		c.action, c.lost, c.leaves = model.ActionRemove, !w.shutdown(c.Pod), true
	case model.ReasonReplacement:
		c.forUpdate = w.onlyForTheUpdate(c.Pod)
		c.action, c.lost, c.leaves = model.ActionReplace, !w.shutdown(c.Pod), !c.forUpdate
	default:
		c.action, c.lost, c.leaves = model.ActionRestart, w.restartLosesData(c.Pod), w.toBeLeft(c.Pod)
	}
	switch {
	case w.shutdown(c.Pod) || w.outage() && !c.lost: // no pod is left to take over
		c.prepare = model.PrepareNone
	case c.action == model.ActionReplace:
		c.prepare = model.PrepareEvacuate
	case c.outside || !c.Agent:
		c.prepare = model.PrepareNone
	case c.lost:
		c.prepare = model.PrepareEvacuate
	default:
		c.prepare = model.PrepareHandoff
	}
	switch {
	case c.action == model.ActionRestart && w.outdated(c.Pod) && rolling(pool) && pool.Force:
		if !w.leftOpen(c.Pod) {
			c.action, c.target, c.prepare = model.ActionLowerPartition, new(int32), model.PrepareNone
		}
	case c.action == model.ActionRestart && w.outdated(c.Pod) && w.byPartition(pool) && !c.leaves && c.Ordinal < pool.Partition:
		ordinal := c.Ordinal
		c.action, c.target = model.ActionLowerPartition, &ordinal
	}
	if c.reason == model.ReasonNodeDrain {
		switch c.prepare {
		case model.PrepareEvacuate:
			c.action = model.ActionEvacuate
		case model.PrepareHandoff:
			c.action = model.ActionHandoff
		}
	}
}

// isForced reports whether the step is a Restart of an outdated pod of a RollingUpdate pool with
// force.
func (w *world) isForced(c *candidate) bool {
	pool := w.pool(c.Pod)
	return (c.action == model.ActionRestart || c.action == model.ActionLowerPartition) &&
		w.outdated(c.Pod) && rolling(pool) && pool.Force
}

// freed reports whether the pod is freed by LowerPartition, and not forced.
func (w *world) freed(c *candidate) bool {
	return c.action == model.ActionLowerPartition && !w.isForced(c)
}

// bringsNoUpdate reports whether the step is Remove, Replace of a pod that is not outdated, or any
// other for which the pod leaves and is not outdated.
func (w *world) bringsNoUpdate(c *candidate) bool {
	return c.action == model.ActionRemove || (c.action == model.ActionReplace || c.leaves) && !w.outdated(c.Pod)
}

// restores returns steps for pods that are claimed and should not go any more, are neither Missing
// nor Terminating, have the claim's UID, and whose claim has not gone too far.
func (w *world) restores() []model.Step {
	var steps []model.Step
	for _, p := range w.pods {
		claim := w.claim(p)
		if claim == nil || w.candidate(p) != nil || p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseTerminating ||
			claim.UID != p.UID {
			continue
		}
		switch claim.Phase {
		case model.PhaseClaimed, model.PhaseDraining, model.PhaseDrained, model.PhaseEmptied, model.PhaseOpened:
			steps = append(steps, model.Step{
				Pod: p.Name, UID: p.UID, Action: model.ActionRestore, Prepare: cmp.Or(claim.Prepare, model.PrepareNone), Reason: claim.Reason,
			})
		}
	}
	return steps
}
