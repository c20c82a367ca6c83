package cluster

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// LastsAt is when a pod that says it is not live will have said so for long enough
// to count as failed; zero when it does not say so, or already has.
func (x *Index) LastsAt(p *Pod) time.Time {
	if !saysNotLive(p) || x.lastingNotLive(p) {
		return time.Time{}
	}
	return x.Now.Add(x.StartSeconds() - Span(p.OwnReport.NotLiveSeconds))
}

// saysNotLive reports whether the pod's own agent says, freshly, that the database does not have it
// as a member. For a pod that is not ready and has no agent the majority of the others says so, or
// it could never be corrected.
func saysNotLive(p *Pod) bool {
	r := p.OwnReport
	return r != nil && (r.Self || !p.Agent && p.Phase == model.PodPhaseStarted) && r.Fresh && r.Member == model.MembershipNotLive
}

// lastingNotLive reports whether it has been said for as long as a start may take. Members lose
// their session, wait for an election or are paused, and come back by themselves: before that time
// nothing tells such a blip from a failure.
func (x *Index) lastingNotLive(p *Pod) bool {
	return saysNotLive(p) && x.forLong(p.OwnReport)
}

// forLong reports whether what the report says of a member that is not live has been so for as long
// as a start may take.
func (x *Index) forLong(r *model.Report) bool { return Span(r.NotLiveSeconds) >= x.StartSeconds() }

// noneLive reports whether the database has nobody left to ask.
func (x *Index) noneLive() bool {
	for i := range x.Pods {
		if x.Pods[i].Live {
			return false
		}
	}
	return true
}

// isLive reports whether the database has it as a member, and there is a process that could be one.
func (x *Index) isLive(p *Pod) bool {
	if !runs(p.Phase) {
		return false
	}
	if p.OwnReport != nil {
		return p.OwnReport.Member == model.MembershipLive
	}
	return x.NoAgents && p.Phase == model.PodPhaseReady
}

// runs reports whether there is a process that could be a member of the database.
func runs(p model.PodPhase) bool {
	return p == model.PodPhaseStarted || p == model.PodPhaseReady || p == model.PodPhaseTerminating
}

// deniesLive reports whether somebody who knows says, and has for as long as a start may take, that
// the database does not have it as a member. What was said before the last action does not count,
// and no word at all is no evidence.
func (x *Index) deniesLive(p *Pod) bool {
	r := p.OwnReport
	return r != nil && r.Member == model.MembershipNotLive && r.Fresh && x.forLong(r)
}

// MayServe reports whether it is unavailable only because nobody knows whether it is live, because
// it has not served for long enough, or because Kubernetes has not found it Ready yet; so it may
// well be there, and all like it at once would take more than the budget. One that Kubernetes does
// not find Ready in time does not wait for others that are unavailable.
func (x *Index) MayServe(p *Pod) bool {
	switch {
	case !p.Unavailable || p.Claim != nil:
		return false
	case x.NodeGone(p):
		return p.MayLive && p.OwnReport != nil // all but Kubernetes may see it
	}
	return x.ComesBack(p) || p.Phase == model.PodPhaseReady && (p.MayLive && !p.Live || !p.SoakTill.IsZero() && !x.NoAgents)
}

// ComesBack reports whether it has started, nothing shows that it is not live, and it has time to
// be Ready. While there are no agents nothing ever shows that.
func (x *Index) ComesBack(p *Pod) bool {
	return p.Phase == model.PodPhaseStarted && (p.Live || p.MayLive && !x.NoAgents) && !x.Overdue(p)
}

// noteContradictions: a pod says that it is no member, and others that what is on it is
// Active. While somebody is live who may be right, nothing shows that it is not.
func (x *Index) noteContradictions() {
	for i := range x.Pods {
		if p := &x.Pods[i]; !x.Dead && runs(p.Phase) && x.deniesLive(p) && !Loops(p.Problem) && !CostsNothing(p, false) {
			p.MayLive = true
		}
	}
}

// NodeGone reports whether what runs on it, runs unseen.
func (x *Index) NodeGone(p *Pod) bool {
	n := x.nodes[p.Node]
	return p.Problem == model.ProblemNodeGone || n != nil && p.Node != "" && n.Gone
}

// Stands reports whether it runs, and is not on its way.
func (x *Index) Stands(p *Pod) bool {
	return runs(p.Phase) && p.Phase != model.PodPhaseTerminating && !x.NodeGone(p)
}
