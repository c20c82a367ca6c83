package cluster

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// standIns is a snapshot in which Kubernetes' readiness stands in for agents that are not there yet.
type standIns struct {
	*model.Snapshot
	adopts bool // in place: some pod has no agent yet
	raised bool // something that is not known counts as good
}

// standIn returns the snapshot for a database that is adopted while its primary restarts in place. No
// restart of it needs a handover or loses anything, so a Ready pod without an agent counts as live and
// settled, unless the others say that it is not live. The primary, or the pod that it must be, goes
// last.
func standIn(s *model.Snapshot) standIns {
	out := standIns{Snapshot: s}
	if !s.Cluster.AdoptsInPlace() {
		return out
	}
	pools := map[string]*model.Pool{}
	for i := range s.Pools {
		if p := &s.Pools[i]; pools[p.Name] == nil {
			pools[p.Name] = p
		}
	}
	adopted := func(p *model.Pod) bool {
		return !p.Agent && p.Phase != model.PodPhaseMissing && pools[p.Pool] != nil && pools[p.Pool].Agents
	}
	if out.adopts = slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return adopted(&p) }); !out.adopts {
		return out
	}
	changed := *s
	changed.Pods, changed.Groups = slices.Clone(s.Pods), slices.Clone(s.Groups)
	out.Snapshot = &changed
	lasts, stands := lastInPlace(s), map[string]bool{}
	for i := range changed.Pods {
		p := &changed.Pods[i]
		if !adopted(p) || p.Phase != model.PodPhaseReady {
			continue
		}
		if r, raised := standInFor(p); r != nil {
			r.Last = lasts(p)
			if r.Last {
				r.Roles = []string{"primary"}
			}
			p.Report, stands[p.Name] = r, true
			out.raised = out.raised || raised
		}
	}
	for i := range changed.Groups {
		out.raised = standInMembers(&changed.Groups[i], stands) || out.raised
	}
	return out
}

// standInFor returns what counts as the report of a Ready pod without an agent, and whether it is
// better than what the others say. It is nil where they say that the pod is not live, or what makes
// no sense. A veto and a task still bind.
func standInFor(p *model.Pod) (r *model.Report, raised bool) {
	r = &model.Report{Member: model.MembershipUnknown}
	if p.Report != nil {
		r = new(*p.Report)
		if p.UID != "" && r.UID != "" && r.UID != p.UID {
			r.Member, r.Veto, r.Busy, r.EngineVersion = model.MembershipUnknown, "", "", ""
		}
	}
	switch r.Member {
	case "", model.MembershipUnknown, model.MembershipLive:
	default:
		return nil, false
	}
	raised = r.Member != model.MembershipLive || !r.Fresh || !r.Settled
	r.UID, r.Self, r.Fresh, r.Settled, r.SettledSince = p.UID, false, true, true, nil
	r.Member, r.Rank, r.Roles, r.After = model.MembershipLive, 0, nil, nil
	return r, raised
}

// standInMembers makes members of unknown state on those pods Active, and reports whether there are
// any.
func standInMembers(g *model.Group, pods map[string]bool) (raised bool) {
	unknown := func(m model.Member) bool {
		return pods[m.Pod] && cmp.Or(m.State, model.MemberUnknown) == model.MemberUnknown
	}
	if !slices.ContainsFunc(g.Members, unknown) {
		return false
	}
	g.Members = slices.Clone(g.Members)
	for i := range g.Members {
		if unknown(g.Members[i]) {
			g.Members[i].State = model.MemberActive
		}
	}
	return true
}

// lastInPlace reports which pod is the primary: the one that leads; or, as long as no pod is known to,
// the only pod of its StatefulSet, where another has more or there is no other pod.
func lastInPlace(s *model.Snapshot) func(*model.Pod) bool {
	leads, known := map[string]bool{}, false
	for i := range s.Groups {
		g := &s.Groups[i]
		for j := range g.Members {
			if m := &g.Members[j]; m.Leader && g.NeedsLeader && g.Kind == model.GroupRole {
				leads[m.Pod] = true
			}
		}
	}
	for i := range s.Pods {
		known = known || leads[s.Pods[i].Name]
	}
	replicas := map[string]int32{}
	all, most := 0, int32(0)
	for i := range s.Pools {
		p := &s.Pools[i]
		if _, twice := replicas[p.Name]; !twice {
			replicas[p.Name] = p.Replicas
		}
		all, most = all+int(p.Replicas), max(most, p.Replicas)
	}
	return func(p *model.Pod) bool {
		if known {
			return leads[p.Name]
		}
		return replicas[p.Pool] == 1 && (most > 1 || all == 1)
	}
}
