package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Left reports whether the pod has been removed since it was claimed, or is being removed.
func (p *Pod) Left() bool {
	c := p.Claim
	return p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseTerminating || c.UID != "" && p.UID != "" && c.UID != p.UID
}

// LeftOpen reports whether the StatefulSet controller may update this pod at any time, so that it
// counts as going although it still runs.
func (x *Index) LeftOpen(p *Pod) bool {
	return p.OwnPool.Strategy == model.StrategyRollingUpdate && p.Ordinal >= p.OwnPool.Partition &&
		IsOutdated(p) && !(x.Guards && p.Guard == model.GuardClosed)
}

// IsOutdated compares the pod's own label with its pool's update revision.
func IsOutdated(p *Pod) bool {
	return p.Phase != model.PodPhaseMissing && p.OwnPool.Observed && p.OwnPool.Revision != "" && p.Revision != p.OwnPool.Revision
}

// scaledAway reports whether a scale-down in progress leaves no room for this ordinal.
func scaledAway(p *Pod) bool {
	to := p.OwnPool.ScalingTo
	return to != nil && int64(p.Ordinal) >= int64(p.OwnPool.Start)+int64(*to)
}

// MustLeaveNode reports whether the pod's node is being drained, and the cluster follows node
// drains.
func (x *Index) MustLeaveNode(p *Pod) bool {
	n := x.nodes[p.Node]
	if n == nil || p.Node == "" || !x.Spec.Update.NodeDrains.Follow {
		return false
	}
	if n.Cordoned {
		return true
	}
	for _, taint := range n.Taints {
		for _, key := range x.Spec.Update.NodeDrains.Taints {
			if taint.Key == key {
				return true
			}
		}
	}
	return false
}

// GoesForGood reports whether a scale-down or a removal takes the pod, and nothing comes back.
func GoesForGood(p *Pod) bool { return p.Remove || !p.Desired || scaledAway(p) }
