package naive

import (
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// The rules about the cluster.

func (w *world) observes() bool     { return w.spec.Update.Mode == model.ModeObserve }
func (w *world) paused() bool       { return w.spec.Update.Paused || w.s.Cluster.Paused }
func (w *world) windowClosed() bool { return !w.s.Cluster.Window.Open }
func (w *world) viewSplit() bool    { return w.s.Health.Disagree != "" }

// fleetFull reports whether fleet.max above 0, and restarts is at least that.
func (w *world) fleetFull() bool { return w.s.Fleet.Max > 0 && w.restarts() >= w.s.Fleet.Max }

// fleetFilled reports whether restarts and those chosen so far are.
func (w *world) fleetFilled(*candidate) bool {
	return w.s.Fleet.Max > 0 && w.restarts()+len(w.chosen) >= w.s.Fleet.Max
}

// restarts counts the restarts. At the barrier one of them is its own.
func (w *world) restarts() int {
	if w.barrier != "" {
		return max(w.s.Fleet.Restarts-1, 0)
	}
	return w.s.Fleet.Restarts
}

func (w *world) poolUnobserved() bool {
	return slices.ContainsFunc(w.s.Pools, func(p model.Pool) bool { return !p.Observed })
}

// rolloutHalted reports whether in some pool at least maxFailed desired pods failed to return, and
// some pod is to go about which that is asked.
func (w *world) rolloutHalted() bool {
	if !slices.ContainsFunc(w.order, func(c *candidate) bool {
		return !w.spared(&rule{spares: correctionsNoUpdateAndFailed}, c)
	}) {
		return false
	}
	for i := range w.s.Pools {
		pool := &w.s.Pools[i]
		if !pool.Observed || pool.Revision == "" {
			continue
		}
		n := 0
		for _, p := range w.pods {
			if p.Pool == pool.Name && w.desired(p) && w.failedToReturn(p) && !w.excusedByOutage(p) {
				n++
			}
		}
		if n >= int(w.spec.Policy.MaxFailed) {
			return true
		}
	}
	return false
}

// failedToReturn reports whether the pod is on the pool's revision, and broken (by Unschedulable
// only once it is overdue), or overdue in phase Pending, NotStarted or Started on a node that is
// not gone, unless it is live and not settled; or Missing, overdue, with a claim whose to is that
// revision and whose action is not Remove.
func (w *world) failedToReturn(p *model.Pod) bool {
	if pool := w.pool(p); !pool.Observed || pool.Revision == "" {
		return false
	}
	if p.Phase == model.PodPhaseMissing && w.notCreatedYet(p) {
		return false
	}
	if p.Phase == model.PodPhaseMissing {
		claim := w.claim(p)
		return w.overdue(p) && w.claimed(p) && claim.To == w.pool(p).Revision && claim.Action != model.ActionRemove
	}
	recovers := w.live(p) && report(p) != nil && !report(p).Settled
	return w.onRevision(p) &&
		(w.evidence(p) != "" && !w.mayEndByItself(p) || w.overdue(p) && starts(p) && !w.nodeGone(p) && !recovers)
}

func (w *world) mayEndByItself(p *model.Pod) bool {
	return (p.Phase == model.PodPhasePending || p.Phase == model.PodPhaseNotStarted) && !w.overdue(p) && p.Problem == model.ProblemUnschedulable
}

func starts(p *model.Pod) bool {
	return p.Phase == model.PodPhasePending || p.Phase == model.PodPhaseNotStarted || p.Phase == model.PodPhaseStarted
}

// groups by ID, as bytes.
func (w *world) groups() []*model.Group {
	var groups []*model.Group
	for i := range w.s.Groups {
		groups = append(groups, &w.s.Groups[i])
	}
	slices.SortStableFunc(groups, func(a, b *model.Group) int { return strings.Compare(a.ID, b.ID) })
	return groups
}

func count(g *model.Group, so func(*model.Member) bool) int {
	n := 0
	for i := range g.Members {
		if so(&g.Members[i]) {
			n++
		}
	}
	return n
}

// leaderless reports whether no member with leader is Active or Moving, elsewhere, on an unknown
// pod, or on one that runs and does not say NotLive.
func (w *world) leaderless(g *model.Group) bool {
	return g.NeedsLeader && count(g, func(m *model.Member) bool {
		p := w.podNamed(m.Pod)
		return m.Leader && serving(m) &&
			(p == nil || runs(p) && (report(p) == nil || report(p).Member != model.MembershipNotLive))
	}) == 0
}

// noLeader returns a group that needs a leader and has none.
func (w *world) noLeader() (string, bool) {
	for _, g := range w.groups() {
		if w.leaderless(g) && !w.inOnePlace(g) {
			return g.ID, true
		}
	}
	return "", false
}

// noLeaderOnItsPlace is for a group on one place alone: only its pod is held, if a member there is
// not Down.
func (w *world) noLeaderOnItsPlace(c *candidate) (string, bool) {
	for _, g := range w.groups() {
		if w.leaderless(g) && w.inOnePlace(g) &&
			count(g, func(m *model.Member) bool { return m.Pod == c.Name && m.State != model.MemberDown }) > 0 {
			return g.ID, true
		}
	}
	return "", false
}

// twoLeaders returns a group with two or more members with leader that are not Down.
func (w *world) twoLeaders() (string, bool) {
	for _, g := range w.groups() {
		if g.NeedsLeader && count(g, func(m *model.Member) bool { return m.Leader && m.State != model.MemberDown }) >= 2 {
			return g.ID, true
		}
	}
	return "", false
}

// unhealthy reports whether the verdict is below policy.health, or unknown: even with Any, but not
// while there are no agents.
func (w *world) unhealthy() bool {
	verdicts := []model.Verdict{model.VerdictRed, model.VerdictYellow, model.VerdictRecoverable, model.VerdictGreen}
	is := slices.Index(verdicts, w.s.Health.Verdict)
	if is < 0 {
		return !w.noAgents()
	}
	switch w.spec.Policy.Health {
	case model.LeastAny:
		return false
	case model.LeastRecoverable:
		return is < slices.Index(verdicts, model.VerdictRecoverable)
	}
	return is < slices.Index(verdicts, model.VerdictGreen)
}

// failureDetection reports whether lastDeparture is known, and less than settleSeconds ago. One in the
// future is now.
func (w *world) failureDetection() bool {
	departure := w.s.Cluster.Status.LastDeparture
	if departure == nil || departure.IsZero() {
		return false
	}
	ago := max(w.now().Sub(departure.Time), 0)
	return ago < seconds(w.s.Cluster.Engine.SettleSeconds)
}
