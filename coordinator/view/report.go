package view

import (
	"math"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// foreverAgo is the age, in seconds, of what cannot be dated.
const foreverAgo = float64(math.MaxInt32)

// reports returns each pod's report, by the pod's place in w.pods.
func (w *world) reports(groups []model.Group) []*model.Report {
	whole := w.wholePods(groups)
	list := make([]*model.Report, len(w.pods))
	for i := range w.pods {
		p := &w.pods[i]
		switch {
		case p.kube == nil:
		case !p.kube.Agent:
			list[i] = w.byOthers(i, whole[i])
		case p.report != nil && !(w.in.Idle && !p.fresh && p.gossip() != nil):
			list[i] = w.byItself(p)
		case w.in.Idle && p.gossip() != nil:
			list[i] = w.byGossip(p)
		}
	}
	return list
}

// byItself returns what the pod's own agent says.
func (w *world) byItself(p *pod) *model.Report {
	r := p.report
	out := &model.Report{
		UID:           string(p.kube.UID),
		Self:          true,
		AgeSeconds:    w.age(p.at),
		Fresh:         p.fresh,
		EngineVersion: r.GetEngineVersion(),
		Member:        meaning(memberships, p.says(), model.MembershipUnknown),
		Roles:         append([]string{}, r.GetRoles()...),
		Last:          r.GetLast(),
		Rank:          int(r.GetRank()),
		Settled:       r.GetSettled() && p.observed(),
		Busy:          r.GetBusy(),
		Veto:          r.GetVeto(),
		Drain:         meaning(drains, r.GetDrain(), model.DrainNone),
		DrainDetail:   r.GetDrainDetail(),
		After:         []string{},

		ClockSkewSeconds: int(w.in.Agents.Skews[string(p.kube.UID)].Seconds()),
	}
	if out.Member == model.MembershipNotLive {
		out.NotLiveSeconds = max(0, r.GetNotLive().AsDuration().Seconds())
	}
	if out.Settled && !p.at.IsZero() {
		since := model.At(settledSince(agents.Received{Report: r, At: p.at}))
		out.SettledSince = &since
	}
	for _, name := range r.GetAfter() {
		// A name that fits no pod stays as it is, and is awaited.
		out.After = append(out.After, w.called(name))
	}
	if out.Member == model.MembershipLive && w.doubted(p) {
		out.Member = model.MembershipUnknown
	}
	return out
}

// doubted reports whether a pod's own statement that it is live cannot be accepted.
func (w *world) doubted(p *pod) bool {
	if tooOld(w.in, p.at) || p.outvoted || p.ambiguous || saysNotLive(p.gossip()) {
		return true
	}
	_, notLive, total := w.vote(w.byName[p.name])
	return p.report.GetNode() != "" && 2*notLive > total
}

// byOthers returns what a majority of the other agents says about a pod without an agent. It says
// nothing before there are witnesses.
func (w *world) byOthers(i int, whole bool) *model.Report {
	p := &w.pods[i]
	live, notLive, total := w.vote(i)
	if total == 0 {
		return nil
	}
	oldest := 0.0
	for _, at := range w.witnesses {
		oldest = max(oldest, w.age(w.pods[at].at))
	}
	out := &model.Report{
		UID:        string(p.kube.UID),
		AgeSeconds: oldest,
		Fresh:      true, // witnesses are
		Member:     model.MembershipUnknown,
		Roles:      []string{},
		Drain:      model.DrainNone,
		After:      []string{},
	}
	switch {
	case p.ambiguous || len(p.names) == 0:
		// Not even its name is known.
	case w.in.Unlisted && p.kube.Phase == kube.Ready && !w.listed(p) && !w.leaderTells():
		// No agent would know it: Ready is all there is, as before the first agent.
		out.Member, out.Settled = model.MembershipLive, whole
	case w.in.Unlisted && p.kube.Phase == kube.Ready && !w.listed(p) && w.adoptsInPlace():
		// Nobody is told to follow a replica of such a primary, so its server needs no name by which
		// others would list it.
	case 2*live > total:
		out.Member, out.Settled = model.MembershipLive, whole
	case 2*notLive > total:
		out.Member = model.MembershipNotLive
		if since := w.in.NotLive[out.UID]; !since.IsZero() {
			out.NotLiveSeconds = w.age(since)
		}
	}
	return out
}

// NotLive returns since when the others have said that pods without an agent are not live, after
// the snapshot that was made of in. Their agents do not say for how long, so the caller counts from
// snapshot to snapshot, and a coordinator that restarts begins again. The times are those of Now,
// never those in a snapshot, which follow the wall clock and not the elapsed time.
func NotLive(s model.Snapshot, in Input) map[string]time.Time {
	since := map[string]time.Time{}
	for i := range s.Pods {
		if r := s.Pods[i].Report; r != nil && !r.Self && r.Member == model.MembershipNotLive {
			since[r.UID] = in.Now
			if at, known := in.NotLive[r.UID]; known {
				since[r.UID] = at
			}
		}
	}
	return since
}

// listed reports whether any agent lists the pod, alive or not.
func (w *world) listed(p *pod) bool {
	return slices.ContainsFunc(w.lists, func(l *list) bool {
		return slices.ContainsFunc(p.names, func(name string) bool { return l.byName[name] != nil })
	})
}

// adoptsInPlace reports whether pods get their agents without a handover.
func (w *world) adoptsInPlace() bool {
	topology, _ := w.topology()
	c := model.Cluster{Topology: topology, Spec: w.in.Kube.Cluster.Spec}
	return c.AdoptsInPlace()
}

// leaderTells reports whether a witness leads, by its own report. It knows which members belong to
// it.
func (w *world) leaderTells() bool {
	return w.leadingWitness() >= 0
}

// byGossip replaces the report of a pod of an idle cluster. It is not fresh, so it lets nothing go.
func (w *world) byGossip(p *pod) *model.Report {
	h := p.headline
	return &model.Report{
		UID:        string(p.kube.UID),
		Self:       true,
		AgeSeconds: foreverAgo,
		Member:     meaning(memberships, h.GetMember(), model.MembershipUnknown),
		Roles:      append([]string{}, h.GetRoles()...),
		Settled:    h.GetMember() == rollcallv1.Membership_MEMBERSHIP_LIVE,
		Drain:      meaning(drains, h.GetDrain(), model.DrainNone),
		After:      []string{},
	}
}

// wholePods reports for each pod whether all the members it hosts are Active.
func (w *world) wholePods(groups []model.Group) []bool {
	whole := make([]bool, len(w.pods))
	for i := range whole {
		whole[i] = true
	}
	for g := range groups {
		for m := range groups[g].Members {
			member := &groups[g].Members[m]
			if i, ok := w.byName[member.Pod]; ok && member.State != model.MemberActive {
				whole[i] = false
			}
		}
	}
	return whole
}

// age returns seconds, never negative, to the millisecond.
func (w *world) age(at time.Time) float64 {
	if at.IsZero() {
		return foreverAgo
	}
	return max(0, w.in.Now.Sub(at).Round(time.Millisecond).Seconds())
}
