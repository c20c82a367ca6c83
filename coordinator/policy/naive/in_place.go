package naive

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Section "Adoption in place".

// inPlace reports whether update.primary is RestartInPlace, the topology FixedPrimary, SingleServer
// or Unknown, and some pod is to be adopted.
func (w *world) inPlace() bool {
	c := &w.s.Cluster
	if c.Spec.Update.Primary != model.PrimaryRestartInPlace {
		return false
	}
	if c.Topology != model.TopologyFixedPrimary && c.Topology != model.TopologySingleServer && c.Topology != model.TopologyUnknown {
		return false
	}
	for _, p := range w.pods {
		if w.toAdopt(p) {
			return true
		}
	}
	return false
}

// toAdopt reports whether the pod has no agent, is not Missing, and its pool's agents is true.
func (w *world) toAdopt(p *model.Pod) bool {
	return w.knownPool(p) && w.pool(p).Agents && !p.Agent && p.Phase != model.PodPhaseMissing
}

// oneByOne reports whether there are no agents, or pods are adopted in place.
func (w *world) oneByOne() bool { return w.noAgents() || w.adopting }

// standIn rewrites what is said of pods that are Ready and to be adopted.
func (w *world) standIn() {
	if w.adopting = w.inPlace(); !w.adopting {
		return
	}
	changed := *w.s.DeepCopy()
	w.s = &changed
	w.pods = inOrder(w.s)
	var stand []*model.Pod
	for _, p := range w.pods {
		if w.toAdopt(p) && p.Phase == model.PodPhaseReady && !saidNotLive(p) {
			stand = append(stand, p)
		}
	}
	for _, p := range stand {
		last := w.presumedPrimary(p)
		r := report(p)
		if r == nil {
			r = &model.Report{}
			w.assumed = true
		}
		w.assumed = w.assumed || r.Member != model.MembershipLive || !r.Fresh || !r.Settled
		p.Report = &model.Report{
			UID: p.UID, AgeSeconds: r.AgeSeconds, Fresh: true, Member: model.MembershipLive, Settled: true, Last: last,
			Veto: r.Veto, Busy: r.Busy, EngineVersion: r.EngineVersion, Drain: r.Drain,
		}
		if last {
			p.Report.Roles = []string{"primary"}
		}
		for i := range w.s.Groups {
			for j := range w.s.Groups[i].Members {
				m := &w.s.Groups[i].Members[j]
				if m.Pod == p.Name && (m.State == "" || m.State == model.MemberUnknown) {
					m.State, w.assumed = model.MemberActive, true
				}
			}
		}
	}
}

// GroupsFor returns the groups as they count for pods that go together: those of which some are only
// known to be Ready count for pods without an agent alone.
func (j *Judge) GroupsFor(s *model.Snapshot, names []string) []model.Group {
	for _, name := range names {
		if p := j.Pod(name); p != nil && p.Agent {
			return s.Groups
		}
	}
	return j.w.s.Groups
}

// saidNotLive reports whether its report says anything but Live or Unknown.
func saidNotLive(p *model.Pod) bool {
	r := report(p)
	return r != nil && r.Member != "" && r.Member != model.MembershipUnknown && r.Member != model.MembershipLive
}

// presumedPrimary reports whether the pod leads a group of kind Role that needs a leader. As long as
// no pod does: whether its pool has one replica, and another has more or N is 1.
func (w *world) presumedPrimary(p *model.Pod) bool {
	known := false
	for _, g := range w.s.Groups {
		for _, m := range g.Members {
			if g.Kind != model.GroupRole || !g.NeedsLeader || !m.Leader {
				continue
			}
			if m.Pod == p.Name {
				return true
			}
			known = known || w.podNamed(m.Pod) != nil
		}
	}
	if known || w.pool(p).Replicas != 1 {
		return false
	}
	for _, pool := range w.s.Pools {
		if pool.Replicas > 1 {
			return true
		}
	}
	return w.wanted() == 1
}
