package naive

import (
	"maps"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Before their turn".

// hasCopy reports whether the pod has a copy of such a state.
func (w *world) hasCopy(p *model.Pod, states ...model.MemberState) bool {
	return w.members(p, func(m *model.Member) bool { return slices.Contains(states, m.State) }) > 0
}

// hasBrokenCopy reports whether the pod is live, has a report, and: it says settled, and a member
// on it is Down; or the rollout is stuck, and one is Down or Recovering, or it says not settled.
func (w *world) hasBrokenCopy(p *model.Pod, stuck bool) bool {
	r := report(p)
	return w.live(p) && r != nil && (r.Settled && w.hasCopy(p, model.MemberDown) ||
		stuck && (w.hasCopy(p, model.MemberDown, model.MemberRecovering) || !r.Settled))
}

// liveUnready reports whether the pod is Started, overdue, live, its report fresh and settled,
// unclaimed, its problem neither CrashLoop nor StartupProbe, and its node not gone.
func (w *world) liveUnready(p *model.Pod) bool {
	r := report(p)
	return p.Phase == model.PodPhaseStarted && w.overdue(p) && w.live(p) && r != nil && r.Fresh && r.Settled &&
		!w.claimed(p) && !slices.Contains(failing, p.Problem) && !w.nodeGone(p)
}

// goesEarly reports whether the pod may be asked about before its turn.
func (w *world) goesEarly(p *model.Pod, stuck bool) bool {
	return w.hasBrokenCopy(p, stuck) || w.liveUnready(p)
}

// mayComeBackAlone reports whether the pod is unavailable, has no broken copy, is not broken, and
// is Ready or not overdue.
func (w *world) mayComeBackAlone(p *model.Pod) bool {
	return w.away(p) && !w.hasBrokenCopy(p, w.noProgress()) && w.evidence(p) == "" && (p.Phase == model.PodPhaseReady || !w.overdue(p))
}

// nothingElseGoes reports whether no pod was chosen, none is claimed except those not created yet,
// and none may come back alone.
func (w *world) nothingElseGoes() bool {
	uncreated := 0
	for _, p := range w.pods {
		if w.claimed(p) && p.Phase == model.PodPhaseMissing && w.notCreatedYet(p) {
			uncreated++
		}
	}
	return len(w.chosen) == 0 && w.podsClaimed() == uncreated && !slices.ContainsFunc(w.pods, w.mayComeBackAlone)
}

// inItsPlace returns the pod that is asked about in its place: if it is to be freed by
// LowerPartition, and others are between that not all guards hold back, that is the highest of
// them.
func (w *world) inItsPlace(c *candidate) *candidate {
	if between := w.between(c); w.freed(c) && len(between) > 0 && !w.heldByGuards(between) {
		if first := find(w.order, between[0]); first != nil {
			return first
		}
	}
	return c
}

// goesBeforeItsTurn reports whether the pod goes early, or is asked about in the place of one that
// does.
func (w *world) goesBeforeItsTurn(c *candidate, stuck bool) bool {
	return w.goesEarly(c.Pod, stuck) || slices.ContainsFunc(w.order, func(q *candidate) bool {
		return w.goesEarly(q.Pod, stuck) && w.inItsPlace(q) == c
	})
}

// beforeItsTurn chooses at most one pod when nothing else goes: the first of those that go
// early that passes.
func (w *world) beforeItsTurn() *candidate {
	if !w.nothingElseGoes() {
		return nil
	}
	heldByPartition := maps.Clone(w.heldByPartition)
	defer func() { w.heldByPartition, w.early = heldByPartition, nil }()
	for _, c := range w.order {
		if !w.goesEarly(c.Pod, w.noProgress()) {
			continue
		}
		w.early = w.inItsPlace(c)
		if len(w.ask([]*candidate{w.early})) == 0 {
			return w.early
		}
	}
	return nil
}
