package cluster

import (
	"cmp"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// whyUnavailable says why a pod does not serve, whatever the cause and the revision. It returns an
// empty reason if it serves. A desired pod that does not serve is unavailable and counts in the
// budget, once. A pod that is not desired counts only while it is claimed, but its copies are not
// counted on either.
func (x *Index) whyUnavailable(p *Pod) string {
	if p.Claim != nil {
		return ClaimedHow(p.Claim)
	}
	if why := p.Unready(); why != "" {
		return why
	}
	if x.NodeGone(p) {
		return "on a node that is gone"
	}
	if !p.Live {
		switch {
		case p.OwnReport == nil:
			return "without a report"
		case p.OwnReport.Member == model.MembershipNotLive:
			return "not live in the database"
		}
		return "not known to be live in the database"
	}
	if x.LeftOpen(p) {
		p.Serves = p.Desired
		if !x.Guards || p.OwnPool.Force {
			return "outdated and left to its controller"
		}
		if p.Guard == model.GuardNone {
			return "outdated without a guard"
		}
		return "outdated with its guard open"
	}
	if p.OwnReport != nil && !p.OwnReport.Settled {
		return "not settled"
	}
	if till := x.SettledSince(p).Add(x.Soak); x.Soak > 0 && till.After(x.Now) {
		p.SoakTill = till
		return "soaking"
	}
	return ""
}

func problemText(p *Pod) string {
	if p.Problem == model.ProblemNone {
		return ""
	}
	return " (" + string(p.Problem) + ")"
}

// Unready says how far a pod that is not Ready has come. It returns an empty text for a Ready pod.
func (p *Pod) Unready() string {
	switch p.Phase {
	case model.PodPhaseMissing:
		return "missing"
	case model.PodPhaseTerminating:
		return "terminating"
	case model.PodPhasePending:
		return "pending" + problemText(p)
	case model.PodPhaseNotStarted:
		return "not started" + problemText(p)
	case model.PodPhaseStarted:
		return "not ready" + problemText(p)
	case model.PodPhaseFailed:
		return "failed" + problemText(p)
	case model.PodPhaseReady:
		return ""
	}
	return "in an unknown phase"
}

// ClaimedHow says that the pod is claimed, or the claim's phase if that is further.
func ClaimedHow(c *model.Claim) string {
	switch c.Phase {
	case model.PhaseClaimed:
		return "claimed"
	case "":
		return "claimed, phase unknown"
	}
	return "claimed, " + strings.ToLower(string(c.Phase))
}

// SettledSince returns the time from which soaking is measured.
func (x *Index) SettledSince(p *Pod) time.Time {
	since := p.Since.Time
	if r := p.OwnReport; r != nil && r.SettledSince != nil && r.SettledSince.After(since) {
		since = r.SettledSince.Time
	}
	return since
}

// Unavailability says why the pod is unavailable, or that it is going to be.
func (p *Pod) Unavailability() string { return cmp.Or(p.UnavailableReason, "chosen") }
