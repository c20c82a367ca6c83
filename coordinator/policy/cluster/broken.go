package cluster

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// StartSeconds returns how long a pod may take to start and join.
func (x *Index) StartSeconds() time.Duration {
	return Span(x.Spec.Policy.StartSeconds)
}

// Overdue reports whether the pod's phase has lasted longer than a start may take. For a missing
// pod it must be known since when it is missing.
func (x *Index) Overdue(p *Pod) bool {
	return (p.Phase != model.PodPhaseMissing || !p.Since.IsZero()) && !p.Since.Add(x.StartSeconds()).After(x.Now)
}

// shows reports whether a problem is evidence that a start has failed.
func shows(p model.Problem) bool {
	switch p {
	case model.ProblemCrashLoop, model.ProblemStartupProbe, model.ProblemImagePull, model.ProblemConfig, model.ProblemUnschedulable, model.ProblemInit, model.ProblemSidecar:
		return true
	}
	return false
}

// Loops reports whether the database container has crashed repeatedly.
func Loops(p model.Problem) bool {
	return p == model.ProblemCrashLoop || p == model.ProblemStartupProbe
}

// FailureReason returns NeverStarted or Failed if there is direct evidence for it: from the
// container's state, unless the member is live, or from the pod's own agent. A missing report is no
// evidence. A pod that is still starting, cloning or recovering is not broken.
func (x *Index) FailureReason(p *Pod) model.Reason {
	if x.NodeGone(p) {
		return "" // nobody can say
	}
	switch p.Phase {
	case model.PodPhasePending, model.PodPhaseNotStarted:
		switch {
		case Loops(p.Problem):
			return model.ReasonFailed
		case shows(p.Problem) || x.Overdue(p):
			return model.ReasonNeverStarted
		}
	case model.PodPhaseFailed:
		return model.ReasonFailed
	case model.PodPhaseStarted, model.PodPhaseReady:
		crashes := p.Phase == model.PodPhaseStarted && Loops(p.Problem)
		if crashes && (p.OwnReport == nil || p.OwnReport.Member != model.MembershipLive) || x.lastingNotLive(p) {
			return model.ReasonFailed
		}
	}
	return ""
}

// NeverJoined reports whether the pod has no agent, is not ready in time, and no other pod knows
// it.
func (x *Index) NeverJoined(p *Pod) bool {
	return !p.Agent && p.Phase == model.PodPhaseStarted && !p.Live && x.Overdue(p)
}

// TimeDecides reports whether the pod, once it is overdue, counts as broken, as failed to return,
// or, if no pod of the database is live, as one that does not come back.
func (x *Index) TimeDecides(p *Pod, dead bool) bool {
	if p.Phase == model.PodPhaseMissing {
		return p.Claim != nil || dead
	}
	if x.NodeGone(p) || x.FailureReason(p) != "" && !x.mayStillStart(p) {
		return false
	}
	switch p.Phase {
	case model.PodPhasePending, model.PodPhaseNotStarted:
		return true
	case model.PodPhaseStarted:
		return !p.Live && p.Revision == p.OwnPool.Revision
	}
	return false
}

// CostsNothing reports whether every member that the pod hosts is already not Active, or it hosts
// none. If a container has never started, or no pod of the database is live, the state of a member
// does not have to be known.
func CostsNothing(p *Pod, unasked bool) bool {
	for i := range p.Hosts {
		h := &p.Hosts[i]
		if h.available > 0 || h.Maybe > 0 && !unasked {
			return false
		}
	}
	return true
}

// HasBroken reports whether a copy on the live pod is down and its member no longer waits for
// anything. If lasting is true, a copy that is down or recovering, or an unsettled pod, is enough.
func (p *Pod) HasBroken(lasting bool) bool {
	if !p.Live || p.OwnReport == nil || !p.OwnReport.Settled && !lasting {
		return false
	}
	return !p.OwnReport.Settled || slices.ContainsFunc(p.Hosts, func(h Hosting) bool {
		return h.NotDown < h.Total || lasting && h.Recovering > 0
	})
}

// FailedToReturn reports whether a pod on its pool's update revision is broken, or is not Ready in
// the time that a start may take although it waits for nothing in the database.
func (x *Index) FailedToReturn(p *Pod) bool {
	to := p.OwnPool.Revision
	if to == "" || !p.OwnPool.Observed {
		return false
	}
	if p.Phase == model.PodPhaseMissing {
		return p.Claim != nil && p.Claim.To == to && p.Claim.Action != model.ActionRemove && x.Overdue(p) && !x.NotYetCreated(p)
	}
	if p.Revision != to {
		return false
	}
	if x.FailureReason(p) != "" && !x.mayStillStart(p) {
		return true
	}
	starting := p.Phase == model.PodPhasePending || p.Phase == model.PodPhaseNotStarted || p.Phase == model.PodPhaseStarted
	recovers := p.Live && p.OwnReport != nil && !p.OwnReport.Settled
	return starting && !recovers && !x.NodeGone(p) && x.Overdue(p)
}

// mayStillStart reports whether a broken pod is only unschedulable. That often ends by itself when
// nodes are added. A correction does not wait for that.
func (x *Index) mayStillStart(p *Pod) bool {
	return (p.Phase == model.PodPhasePending || p.Phase == model.PodPhaseNotStarted) && p.Problem == model.ProblemUnschedulable && !x.Overdue(p)
}
