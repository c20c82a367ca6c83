package cluster

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// LastsAt returns when a pod that says it is not live will have said so for long enough to count as
// failed. It returns zero if it does not say so, or already has.
func (x *Index) LastsAt(p *Pod) time.Time {
	if !saysNotLive(p) || x.lastingNotLive(p) {
		return time.Time{}
	}
	return x.Now.Add(x.StartSeconds() - Span(p.OwnReport.NotLiveSeconds))
}

// saysNotLive reports whether the pod's own agent says in a fresh report that the database does not
// have it as a member. For a pod that is not ready and has no agent the majority of the others
// decides, or it could never be corrected.
func saysNotLive(p *Pod) bool {
	r := p.OwnReport
	return r != nil && (r.Self || !p.Agent && p.Phase == model.PodPhaseStarted) && r.Fresh && r.Member == model.MembershipNotLive
}

// lastingNotLive reports whether it has been said for as long as a start may take. Members lose
// their session, wait for an election or are paused, and come back by themselves. Before that time
// such a blip cannot be told from a failure.
func (x *Index) lastingNotLive(p *Pod) bool {
	return saysNotLive(p) && x.forLong(p.OwnReport)
}

// forLong reports whether the member has been not live for as long as a start may take, according
// to the report.
func (x *Index) forLong(r *model.Report) bool { return Span(r.NotLiveSeconds) >= x.StartSeconds() }

// noneLive reports whether the database has no live pod left to ask.
func (x *Index) noneLive() bool {
	for i := range x.Pods {
		if x.Pods[i].Live {
			return false
		}
	}
	return true
}

// isLive reports whether the database has the pod as a member, and a process that could be one
// runs.
func (x *Index) isLive(p *Pod) bool {
	if !runs(p.Phase) {
		return false
	}
	if p.OwnReport != nil {
		return p.OwnReport.Member == model.MembershipLive
	}
	return x.NoAgents && p.Phase == model.PodPhaseReady
}

// runs reports whether a process that could be a member of the database runs.
func runs(p model.PodPhase) bool {
	return p == model.PodPhaseStarted || p == model.PodPhaseReady || p == model.PodPhaseTerminating
}

// deniesLive reports whether somebody who knows has said, for as long as a start may take, that the
// database does not have the pod as a member. What was said before the last action does not count,
// and no report is no evidence.
func (x *Index) deniesLive(p *Pod) bool {
	r := p.OwnReport
	return r != nil && r.Member == model.MembershipNotLive && r.Fresh && x.forLong(r)
}

// MayServe reports whether the pod is unavailable only because nobody knows whether it is live,
// because it has not served for long enough, or because Kubernetes has not found it Ready yet. It
// may well serve, and all such pods at once could be more than the budget. A pod that Kubernetes
// does not find Ready in time does not wait for other unavailable pods.
func (x *Index) MayServe(p *Pod) bool {
	switch {
	case !p.Unavailable || p.Claim != nil:
		return false
	case x.NodeGone(p):
		return p.MayLive && p.OwnReport != nil // all but Kubernetes may see it as ready
	}
	return x.ComesBack(p) || p.Phase == model.PodPhaseReady && (p.MayLive && !p.Live || !p.SoakTill.IsZero() && !x.NoAgents)
}

// ComesBack reports whether the pod has started, nothing shows that it is not live, and it still
// has time to become Ready. While there are no agents nothing ever shows that.
func (x *Index) ComesBack(p *Pod) bool {
	return p.Phase == model.PodPhaseStarted && (p.Live || p.MayLive && !x.NoAgents) && !x.Overdue(p)
}

// noteContradictions handles a pod that says it is no member while others say that its members are
// Active. While a live pod may be right about that, nothing shows that it is not live.
func (x *Index) noteContradictions() {
	for i := range x.Pods {
		if p := &x.Pods[i]; !x.Dead && runs(p.Phase) && x.deniesLive(p) && !Loops(p.Problem) && !CostsNothing(p, false) {
			p.MayLive = true
		}
	}
}

// NodeGone reports whether the pod's node is gone, so that nobody sees what runs on it.
func (x *Index) NodeGone(p *Pod) bool {
	n := x.nodes[p.Node]
	return p.Problem == model.ProblemNodeGone || n != nil && p.Node != "" && n.Gone
}

// Stands reports whether the pod runs and is not going.
func (x *Index) Stands(p *Pod) bool {
	return runs(p.Phase) && p.Phase != model.PodPhaseTerminating && !x.NodeGone(p)
}
