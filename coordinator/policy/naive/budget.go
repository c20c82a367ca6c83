package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Budgets".

// used returns U: unavailable pods, and chosen pods that were not unavailable.
func (w *world) used() int {
	n := len(w.unknownClaims())
	for _, p := range w.pods {
		if w.awayOrChosen(p) {
			n++
		}
	}
	return n
}

// leftOpenNotChosen returns S: unavailable pods that serve although left open and are not chosen.
func (w *world) leftOpenNotChosen() int {
	n := 0
	for _, p := range w.pods {
		if w.away(p) && w.servesLeftOpen(p) && !w.isChosen(p) {
			n++
		}
	}
	return n
}

// byHand returns H: pods claimed, including unknown ones, or chosen.
func (w *world) byHand() int {
	n := len(w.unknownClaims())
	for _, p := range w.pods {
		if w.claimed(p) || w.isChosen(p) {
			n++
		}
	}
	return n
}

// needed returns R: the room that the rest of the pod's unit needs, including itself: its desired
// pods that are neither unavailable nor outside the budget. A pod that is not desired needs room
// only for itself. What was reserved for a pod that is then held stays reserved until its unit is
// through.
func (w *world) needed(c *candidate) int {
	if !w.desired(c.Pod) {
		return 1
	}
	n := 0
	for _, q := range w.batch {
		if w.desired(q.Pod) && !w.away(q.Pod) && !q.outside && !w.isChosen(q.Pod) {
			n++
		}
	}
	return n
}

func (w *world) podsAwayHold(c *candidate) bool {
	if c.action == model.ActionReplace && !w.marked(c.Pod) && w.tooManyInFlight(c) {
		return true
	}
	used, needed, limit := w.used(), w.needed(c), w.podLimitFor(c)
	switch {
	case c.dead:
		return w.someoneMayComeBack(c)
	case w.assumed && c.Agent && w.way(c.Pod) == countedOn && !w.shutdown(c.Pod):
		return true
	case c.outside || w.shutdown(c.Pod):
		return false
	case w.away(c.Pod) && w.mayWellServe(c.Pod):
		return used+needed > limit
	case w.away(c.Pod) && w.servesLeftOpen(c.Pod):
		return used-w.leftOpenNotChosen()+max(needed, 1) > limit
	case w.away(c.Pod) && !w.noAgents() && w.denied(c.Pod):
		return false
	case w.away(c.Pod) && !w.noAgents():
		return w.byHand() >= limit
	}
	if w.noAgents() && w.late(c.Pod) {
		for _, p := range w.pods {
			if w.late(p) || w.away(p) && p.Phase == model.PodPhaseMissing && w.notCreatedYet(p) {
				used--
			}
		}
	}
	return used+max(needed, 1) > limit
}

// late reports whether the pod is unavailable, unclaimed, not chosen, Started and overdue.
func (w *world) late(p *model.Pod) bool {
	return w.away(p) && !w.claimed(p) && !w.isChosen(p) && p.Phase == model.PodPhaseStarted && w.overdue(p)
}

// someoneMayComeBack is from section "Nobody live". A dead pod goes if every other desired pod is
// not chosen, and does not come back by itself, or is not created yet, or serves as far as is
// known; or it goes with the same correction of an OrderedReady pool, and does not come back by
// itself.
func (w *world) someoneMayComeBack(c *candidate) bool {
	return slices.ContainsFunc(w.pods, func(p *model.Pod) bool {
		if p == c.Pod || !w.desired(p) {
			return false
		}
		missing := p.Phase == model.PodPhaseMissing
		if w.goesWith(p) && w.knownNotToComeBack(p) {
			return false
		}
		return w.isChosen(p) || !(w.doesNotComeBack(p) || missing && w.notCreatedYet(p) || w.servesUnheard(p))
	})
}

// doesNotComeBack reports whether that is known of the pod, and it is not claimed, or claimed to be
// replaced (with its UID).
func (w *world) doesNotComeBack(p *model.Pod) bool {
	if claim := w.claim(p); w.claimed(p) && (claim.Action != model.ActionReplace || claim.UID != p.UID) {
		return false
	}
	return w.knownNotToComeBack(p)
}

// knownNotToComeBack reports whether the pod is broken, or Missing and overdue, or Started and
// overdue without an agent and a report.
func (w *world) knownNotToComeBack(p *model.Pod) bool {
	unheard := p.Phase == model.PodPhaseStarted && !p.Agent && report(p) == nil
	return w.evidence(p) != "" || w.overdue(p) && (p.Phase == model.PodPhaseMissing || unheard)
}

// servesUnheard reports whether the pod is Ready, its node is not gone, it has no agent and no
// report, and no claim, or one of another known UID.
func (w *world) servesUnheard(p *model.Pod) bool {
	claim := w.claim(p)
	another := claim != nil && claim.UID != "" && p.UID != "" && claim.UID != p.UID
	return p.Phase == model.PodPhaseReady && !w.nodeGone(p) && !p.Agent && report(p) == nil && (!w.claimed(p) || another)
}

// notCreatedYet reports whether the pod is in an OrderedReady pool of which a lower desired ordinal
// is not Ready.
func (w *world) notCreatedYet(p *model.Pod) bool {
	if w.pool(p).Management != model.ManagementOrderedReady {
		return false
	}
	for _, q := range w.pods {
		if q.Pool == p.Pool && q.Ordinal < p.Ordinal && w.desired(q) && q.Phase != model.PodPhaseReady {
			return true
		}
	}
	return false
}

// zoneUnknown reports whether its zone is not known, and unit is Zone, or a zone limit is set and
// this is no outage.
func (w *world) zoneUnknown(c *candidate) bool {
	if w.shutdown(c.Pod) || w.zone(c.Pod) != "" {
		return false
	}
	if w.replacementNeedsZone(c) {
		return true
	}
	return !c.outside && (w.unit() == model.UnitZone || w.zoneLimit() > 0 && !w.outage())
}

// zonesAway checks the limit of zones, with Z the zones that have an unavailable or chosen pod.
func (w *world) zonesAway(c *candidate) bool {
	if c.action == model.ActionReplace && !w.marked(c.Pod) && w.tooManyZonesInFlight(c) {
		return true
	}
	limit := w.zoneLimit()
	if limit == 0 || c.outside || w.outage() || w.shutdown(c.Pod) || w.away(c.Pod) && w.denied(c.Pod) {
		return false
	}
	counted := w.awayOrChosen
	if w.away(c.Pod) && !w.mayWellServe(c.Pod) {
		counted = func(p *model.Pod) bool { return w.claimed(p) || w.isChosen(p) }
	}
	if of := counted; w.noAgents() && w.late(c.Pod) {
		counted = func(p *model.Pod) bool {
			return of(p) && !(p.Phase == model.PodPhaseMissing && w.notCreatedYet(p))
		}
	}
	zones := w.zonesOf(counted, everyClaim)
	among := w.zone(c.Pod) != "" && zones["zone "+w.zone(c.Pod)]
	return !(len(zones) < limit || len(zones) == limit && (w.mayWellServe(c.Pod) || among))
}
