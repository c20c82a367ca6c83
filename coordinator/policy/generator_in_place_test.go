package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"

// adoptInPlace takes the agents of some pods away where the primary restarts in place. The others know
// little of these.
func (g *generator) adoptInPlace(s *model.Snapshot) {
	c := &s.Cluster
	if c.Spec.Update.Primary != model.PrimaryRestartInPlace || g.apart.IntN(4) == 0 || scaledIn(s) {
		return
	}
	c.Topology = pick(g.apart, model.TopologyFixedPrimary, model.TopologyFixedPrimary, model.TopologySingleServer, model.TopologyUnknown, model.TopologySwitchable)
	c.Spec.Update.Adopt = pick(g.apart, model.AdoptAllow, model.AdoptAllow, model.AdoptAsk)
	for i := range s.Pods {
		if p := &s.Pods[i]; g.apart.IntN(2) == 0 && p.Phase != model.PodPhaseMissing {
			p.Agent = false
			if p.Report != nil {
				p.Report.Self, p.Report.Last = false, g.apart.IntN(10) == 0
				p.Report.Member = pick(g.apart, model.MembershipLive, model.MembershipLive, model.MembershipUnknown, model.MembershipUnknown, model.MembershipNotLive)
				p.Report.Settled = g.apart.IntN(2) == 0
			}
		}
	}
	for i := range s.Groups {
		for j := range s.Groups[i].Members {
			if g.apart.IntN(5) == 0 {
				s.Groups[i].Members[j].State = model.MemberUnknown
			}
		}
	}
	silentWithoutAgents(s)
}

// scaledIn reports whether there is a pod beyond the replicas of its pool. For such a pod, while pods
// are adopted in place, the two implementations name different rules of those that hold it.
func scaledIn(s *model.Snapshot) bool {
	for i := range s.Pods {
		p := &s.Pods[i]
		for j := range s.Pools {
			if pool := &s.Pools[j]; pool.Name == p.Pool && p.Ordinal >= pool.Start+pool.Replicas {
				return true
			}
		}
	}
	return false
}
