package policy

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// candidate is a pod that should go.
type candidate struct {
	*cluster.Pod
	reason  model.Reason
	broken  bool // it never started, or failed
	failed  bool // to return, on its pool's revision
	outside bool // outside the budget: broken, and restarting it makes nothing unavailable
	dead    bool // no pod of its database is live
	lost    bool // its data does not survive
	leaves  bool // it does not come back, or comes back elsewhere
	forced  bool // a person handed it to its controller, so no rule is asked
	action  model.Action
	prepare model.Prepare
	place   int // in the order
	replace replacement
}

// candidates returns the pods that should go, unordered.
func candidates(x *cluster.Index) []candidate {
	list := make([]candidate, 0, len(x.Pods))
	for i := range x.Pods {
		p := &x.Pods[i]
		reason := restartReason(x, p)
		if reason == "" {
			continue
		}
		c := candidate{Pod: p, reason: reason, failed: x.FailedToReturn(p)}
		if reason == model.ReasonReplacement {
			c.replace = replacementReason(x, p)
		}
		chooseAction(x, &c)
		switch reason {
		case model.ReasonScaleDown:
			c.broken = x.FailureReason(p) == model.ReasonNeverStarted || x.NeverJoined(p)
			c.outside = c.broken && len(p.Hosts) == 0
		case model.ReasonReplacement:
			c.broken = p.Phase == model.PodPhaseMissing || x.FailureReason(p) != ""
			c.outside = c.broken && cluster.CostsNothing(p, false)
		case model.ReasonOutdated, model.ReasonRestartRequested, model.ReasonNodeDrain:
			if why := x.FailureReason(p); why != "" {
				c.reason, c.broken = why, true
				c.outside = nothingLost(x, &c, why)
				c.dead = x.Dead && why == model.ReasonFailed
			}
		}
		chooseDrain(x, &c)
		list = append(list, c)
	}
	return list
}

// nothingLost reports whether a restart of the broken candidate makes nothing unavailable. If no
// pod is live, nobody could know more about a member, and it is not served anyway.
func nothingLost(x *cluster.Index, c *candidate, why model.Reason) bool {
	return cluster.CostsNothing(c.Pod, why == model.ReasonNeverStarted || x.Dead && !c.lost)
}

// restartReason returns the first reason for which a pod should go.
func restartReason(x *cluster.Index, p *cluster.Pod) model.Reason {
	leaves, why := cluster.GoesForGood(p), replacementReason(x, p)
	switch {
	case p.Phase == model.PodPhaseMissing && (leaves || why.failed.Condition == ""):
		return "" // it has gone
	case leaves:
		return model.ReasonScaleDown
	case why.wanted():
		return model.ReasonReplacement
	case p.Restart:
		return model.ReasonRestartRequested
	case cluster.IsOutdated(p):
		return model.ReasonOutdated
	case !p.Agent && p.OwnPool.Agents:
		return model.ReasonAdopt
	case x.MustLeaveNode(p):
		return model.ReasonNodeDrain
	}
	return ""
}

func chooseAction(x *cluster.Index, c *candidate) {
	data := x.Spec.Drain.Data
	switch {
	case c.reason == model.ReasonScaleDown:
		c.action, c.lost, c.leaves = model.ActionRemove, true, true
	case c.reason == model.ReasonReplacement:
		c.action, c.lost, c.leaves = model.ActionReplace, true, !c.replace.forUpdate()
	case x.MustLeaveNode(c.Pod):
		c.action, c.lost, c.leaves = model.ActionRestart, data.NodeDrain == model.DataLose, true
	default:
		c.action, c.lost = model.ActionRestart, data.Restart == model.DataLose
	}
	if c.OwnPool.Shutdown {
		c.lost = false // the volumes stay
	}
}

func chooseDrain(x *cluster.Index, c *candidate) {
	switch {
	case c.OwnPool.Shutdown, x.Outage() && !c.lost:
		c.prepare = model.PrepareNone // all pods go, so none is left to take over
	case c.action == model.ActionReplace:
		c.prepare = model.PrepareEvacuate // the database itself must confirm that nothing is left on it
	case c.outside, !c.Agent:
		c.prepare = model.PrepareNone
	case c.lost:
		c.prepare = model.PrepareEvacuate
	default:
		c.prepare = model.PrepareHandoff
	}
	c.forced = c.OwnPool.Force && c.OwnPool.Strategy == model.StrategyRollingUpdate && cluster.IsOutdated(c.Pod) && c.action == model.ActionRestart
	switch {
	case c.forced && !x.LeftOpen(c.Pod):
		c.action, c.prepare = model.ActionLowerPartition, model.PrepareNone
	case c.OwnPool.ByPartition && cluster.IsOutdated(c.Pod) && !c.leaves && c.action == model.ActionRestart && c.Ordinal < c.OwnPool.Partition:
		c.action = model.ActionLowerPartition
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

// bringsNoUpdate reports whether nothing comes back, or the old version comes back elsewhere. A
// requested restart may bring what the template only refers to.
func (c *candidate) bringsNoUpdate() bool {
	return c.action == model.ActionRemove || (c.action == model.ActionReplace || c.leaves) && !cluster.IsOutdated(c.Pod)
}

// rolls reports whether pods of a higher rank wait for it. A pod that is scaled down, adopted, or
// replaced on the same template brings nothing that the others would have to be ready for.
func (c *candidate) rolls() bool {
	return c.reason != model.ReasonScaleDown && c.reason != model.ReasonAdopt && (c.reason != model.ReasonReplacement || cluster.IsOutdated(c.Pod))
}

// cannotBeDone reports whether nobody can empty the pod.
func (c *candidate) cannotBeDone() bool {
	return c.action == model.ActionReplace && c.Refused == model.RuleVeto
}

// restarts reports whether the pod goes and comes back.
func restarts(a model.Action) bool {
	return a == model.ActionRestart || a == model.ActionLowerPartition
}
