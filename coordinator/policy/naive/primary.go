package naive

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Section "A primary".

// primary reports whether cluster.topology is given and not Galera, and a member on the pod leads a
// group of kind Role that needs a leader. Not in an outage or shutdown.
func (w *world) primary(c *candidate) bool {
	topology := w.s.Cluster.Topology
	if topology == "" || topology == model.TopologyGalera || w.outage() || w.shutdown(c.Pod) {
		return false
	}
	for i := range w.s.Groups {
		g := &w.s.Groups[i]
		if g.Kind != model.GroupRole || !g.NeedsLeader {
			continue
		}
		for j := range g.Members {
			if g.Members[j].Pod == c.Name && g.Members[j].Leader {
				return true
			}
		}
	}
	return false
}

// topologyNotKnown reports whether the pod is the primary, and the topology is Unknown; or
// FixedPrimary under Switchover; or Switchable under RestartInPlace.
func (w *world) topologyNotKnown(c *candidate) bool {
	if !w.primary(c) {
		return false
	}
	switch w.s.Cluster.Topology {
	case model.TopologyUnknown:
		return true
	case model.TopologyFixedPrimary:
		return w.s.Cluster.Spec.Update.Primary == model.PrimarySwitchover
	case model.TopologySwitchable:
		return w.s.Cluster.Spec.Update.Primary == model.PrimaryRestartInPlace
	}
	return false
}

// primaryOnHold reports whether the pod is the primary, under Hold.
func (w *world) primaryOnHold(c *candidate) bool {
	return w.s.Cluster.Spec.Update.Primary == model.PrimaryHold && w.primary(c)
}
