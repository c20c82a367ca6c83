package view

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// topology returns the topology on which all witnesses agree that tell one, and why it is unknown
// otherwise. An agent that knows of no other member, or not of all pods of its StatefulSet, may only
// not have heard of them: what it says counts only where Kubernetes wants no others. Of an idle
// cluster the last known one is shown.
func (w *world) topology() (model.Topology, string) {
	if w.in.Idle {
		return w.lastTopology(), ""
	}
	found, by := model.Topology(""), ""
	for _, i := range w.witnesses {
		told := meaning(topologies, w.pods[i].report.GetTopology(), "")
		switch {
		case told == "" || told == found:
		case found == "":
			found, by = told, w.pods[i].name
		default:
			return model.TopologyUnknown, fmt.Sprintf("%s says %s, %s says %s", by, found, w.pods[i].name, told)
		}
	}
	switch {
	case found == "" && !w.in.Topologies:
		return "", ""
	case found == "":
		return model.TopologyUnknown, "no live member tells it"
	case found == model.TopologySingleServer && len(w.pods) > 1:
		return model.TopologyUnknown, fmt.Sprintf("%s knows of no other member, and there are %d pods", by, len(w.pods))
	case found == model.TopologyFixedPrimary && w.in.Kube.Cluster.Spec.Update.Primary == "":
		if i := w.leadingWitness(); i >= 0 && w.in.Kube.Pools[w.pods[i].pool].Replicas > 1 {
			return model.TopologyUnknown, fmt.Sprintf("%s is said to be the only pod of %s, which wants %d",
				w.pods[i].name, w.in.Kube.Pools[w.pods[i].pool].Name, w.in.Kube.Pools[w.pods[i].pool].Replicas)
		}
	}
	return found, ""
}

// lastTopology returns the topology that was known last.
func (w *world) lastTopology() model.Topology {
	if last := w.in.Kube.Cluster.Status.Topology; last != "" || !w.in.Topologies {
		return last
	}
	return model.TopologyUnknown
}

// leadingWitness returns the place of a witness that leads a group by its own report, or -1.
func (w *world) leadingWitness() int {
	for _, i := range w.witnesses {
		if leadsOne(w.pods[i].report) {
			return i
		}
	}
	return -1
}

// leadsOne reports whether the member leads a group by its own report.
func leadsOne(r *rollcallv1.Report) bool {
	for _, g := range r.GetGroups() {
		for _, m := range g.GetMembers() {
			if m.GetLeader() && m.GetNode() == r.GetNode() {
				return true
			}
		}
	}
	return false
}
