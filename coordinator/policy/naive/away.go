package naive

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "What counts as unavailable".

// way is the first line that is true of a pod that does not serve.
type way int

const (
	countedOn way = iota
	isClaimed
	notReady
	onGoneNode
	notLive
	isLeftOpen
	notSettled
	isSoaking
)

func (w *world) way(p *model.Pod) way {
	r := report(p)
	switch {
	case w.claimed(p):
		return isClaimed
	case p.Phase != model.PodPhaseReady:
		return notReady
	case w.nodeGone(p):
		return onGoneNode
	case !w.live(p):
		return notLive
	case w.leftOpen(p):
		return isLeftOpen
	case r != nil && !r.Settled:
		return notSettled
	case w.soaks(p):
		return isSoaking
	}
	return countedOn
}

// settledAt returns the later of since and settledSince, if a report has one.
func settledAt(p *model.Pod) time.Time {
	at := p.Since.Time
	if r := report(p); r != nil && r.SettledSince != nil && r.SettledSince.After(at) {
		at = r.SettledSince.Time
	}
	return at
}

// soaks reports whether that moment plus soakSeconds is after now. While there are no agents the
// pod soaks for at least 30 s.
func (w *world) soaks(p *model.Pod) bool {
	soak := w.spec.Policy.SoakSeconds
	if w.oneByOne() {
		soak = max(soak, 30)
	}
	at := settledAt(p)
	return !at.IsZero() && at.Add(seconds(float64(soak))).After(w.now())
}

// away reports whether the pod does not serve, and is desired or claimed.
func (w *world) away(p *model.Pod) bool {
	return w.way(p) != countedOn && (w.desired(p) || w.claimed(p))
}

// servesLeftOpen reports whether left open is what is wrong with the pod, and it is desired.
func (w *world) servesLeftOpen(p *model.Pod) bool { return w.way(p) == isLeftOpen && w.desired(p) }

// podsAway counts the unavailable pods, with claims on unknown pods.
func (w *world) podsAway() int {
	n := len(w.unknownClaims())
	for _, p := range w.pods {
		if w.away(p) {
			n++
		}
	}
	return n
}

func (w *world) podsClaimed() int {
	n := len(w.unknownClaims())
	for _, p := range w.pods {
		if w.claimed(p) {
			n++
		}
	}
	return n
}

// podLimit returns maxUnavailable, at least the largest unit; 1 while there are no agents.
func (w *world) podLimit() int {
	if w.oneByOne() {
		return 1
	}
	return max(resolve(w.spec.Policy.MaxUnavailable, w.wanted()), w.largestUnit())
}

// podLimitFor returns the limit for a pod that is asked about: maxUnavailable, or the number of
// desired pods of its unit, if that is more and all that are unavailable or chosen are of that
// unit.
func (w *world) podLimitFor(c *candidate) int {
	if w.oneByOne() {
		return 1
	}
	limit := resolve(w.spec.Policy.MaxUnavailable, w.wanted())
	anotherUnit := func(p *model.Pod) bool { return w.unitOf(p) != w.unitOf(c.Pod) }
	anotherUnitClaimed := func(claim *model.Claim) bool {
		return anotherUnit(&model.Pod{Name: claim.Pod, Zone: claim.Zone})
	}
	if slices.ContainsFunc(w.unknownClaims(), anotherUnitClaimed) ||
		slices.ContainsFunc(w.pods, func(p *model.Pod) bool { return w.awayOrChosen(p) && anotherUnit(p) }) {
		return limit
	}
	return max(limit, w.unitSize(c.Pod))
}

// zoneLimit returns the limit of zones; 0 if it is not set. A percentage is of the different zones
// of all pods.
func (w *world) zoneLimit() int {
	if w.spec.Policy.MaxZonesUnavailable == nil {
		return 0
	}
	zones := map[string]bool{}
	for _, p := range w.pods {
		if z := w.zone(p); z != "" {
			zones[z] = true
		}
	}
	return resolve(w.spec.Policy.MaxZonesUnavailable, len(zones))
}

// zonesOf returns the zones of some pods and claims. Each pod in an unknown zone counts as another
// zone.
func (w *world) zonesOf(take func(*model.Pod) bool, takeClaim func(*model.Claim) bool) map[string]bool {
	zones := map[string]bool{}
	add := func(zone, name string) {
		if zone == "" {
			zones[fmt.Sprintf("unknown zone of %q", name)] = true
		} else {
			zones["zone "+zone] = true
		}
	}
	for _, p := range w.pods {
		if take(p) {
			add(w.zone(p), p.Name)
		}
	}
	for _, c := range w.unknownClaims() {
		if takeClaim(c) {
			add(c.Zone, c.Pod)
		}
	}
	return zones
}

func everyClaim(*model.Claim) bool { return true }

func (w *world) budget() model.Budget {
	b := model.Budget{}
	b.Pods.Limit, b.Pods.Away, b.Pods.Claimed = w.podLimit(), w.podsAway(), w.podsClaimed()
	b.Pods.Room = b.Pods.Limit - b.Pods.Away
	b.Zones.Limit, b.Zones.Away = w.zoneLimit(), len(w.zonesOf(w.away, everyClaim))
	return b
}

// denied reports whether its report says NotLive, has done so for startSeconds, and is fresh; or
// there is other evidence that it has failed; or it does not run. But not when that is
// contradicted.
func (w *world) denied(p *model.Pod) bool {
	r := report(p)
	return !w.contradicted(p) &&
		(r != nil && r.Fresh && r.Member == model.MembershipNotLive && w.notLiveLong(r) ||
			w.evidence(p) == model.ReasonFailed ||
			!runs(p))
}

// contradicted reports whether it says NotLive for that long and runs, its problem is neither
// CrashLoop nor StartupProbe, the database is not dead, and a member on it is Active, Moving or of
// unknown state.
func (w *world) contradicted(p *model.Pod) bool {
	r := report(p)
	return r != nil && r.Member == model.MembershipNotLive && w.notLiveLong(r) && runs(p) &&
		!slices.Contains(failing, p.Problem) && !w.deadDatabase() && !w.takesNothingAway(p, true)
}

func (w *world) notLiveLong(r *model.Report) bool {
	return seconds(r.NotLiveSeconds) >= seconds(float64(w.spec.Policy.StartSeconds))
}

// mayWellServe reports whether an unavailable pod without a claim may serve, so that all such pods
// at once could take more than the budget.
func (w *world) mayWellServe(p *model.Pod) bool {
	switch {
	case !w.away(p) || w.claimed(p):
		return false
	case w.nodeGone(p):
		return !w.denied(p) && report(p) != nil
	case p.Phase == model.PodPhaseStarted:
		return !w.overdue(p) && (w.live(p) || !w.noAgents() && !w.denied(p))
	case p.Phase == model.PodPhaseReady && !w.live(p):
		return !w.denied(p)
	}
	return w.way(p) == isSoaking && !w.noAgents()
}

// Section "Evidence of failure".

var (
	failing      = []model.Problem{model.ProblemCrashLoop, model.ProblemStartupProbe}
	neverStarted = []model.Problem{
		model.ProblemImagePull, model.ProblemConfig, model.ProblemUnschedulable, model.ProblemInit, model.ProblemSidecar,
	}
)

// evidence returns the reason for which a pod is broken. It is empty if it is not.
func (w *world) evidence(p *model.Pod) model.Reason {
	if w.nodeGone(p) {
		return ""
	}
	r := report(p)
	switch p.Phase {
	case model.PodPhasePending, model.PodPhaseNotStarted:
		if slices.Contains(failing, p.Problem) {
			return model.ReasonFailed
		}
		if slices.Contains(neverStarted, p.Problem) || w.overdue(p) {
			return model.ReasonNeverStarted
		}
	case model.PodPhaseFailed:
		return model.ReasonFailed
	case model.PodPhaseStarted, model.PodPhaseReady:
		if p.Phase == model.PodPhaseStarted && slices.Contains(failing, p.Problem) && (r == nil || r.Member != model.MembershipLive) {
			return model.ReasonFailed
		}
		if saysNotLive(p) && w.notLiveLong(r) {
			return model.ReasonFailed
		}
	}
	return ""
}

// saysNotLive reports whether its report is fresh, says NotLive, and is its own agent's; or the pod
// has no agent and is Started, and the others say so.
func saysNotLive(p *model.Pod) bool {
	r := report(p)
	if r == nil || !r.Fresh || r.Member != model.MembershipNotLive {
		return false
	}
	return r.Self || !p.Agent && p.Phase == model.PodPhaseStarted
}

// takesNothingAway reports whether no group has a member on the pod that is Active or Moving, or of
// unknown state, unless that does not matter.
func (w *world) takesNothingAway(p *model.Pod, unknownMatters bool) bool {
	for i := range w.s.Groups {
		for k := range w.s.Groups[i].Members {
			m := &w.s.Groups[i].Members[k]
			if m.Pod == p.Name && (serving(m) || unknownMatters && unknownState(m)) {
				return false
			}
		}
	}
	return true
}

func serving(m *model.Member) bool {
	return m.State == model.MemberActive || m.State == model.MemberMoving
}

func unknownState(m *model.Member) bool {
	return !serving(m) && m.State != model.MemberRecovering && m.State != model.MemberDown
}
