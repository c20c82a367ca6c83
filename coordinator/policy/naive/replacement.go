package naive

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Replacement".

// marked reports whether the pod is marked by removal.marked, or by a claim with action Replace and
// its UID, which must not be empty.
func (w *world) marked(p *model.Pod) bool {
	if p.Removal.Marked != nil {
		return true
	}
	claim := w.claim(p)
	return claim != nil && claim.Action == model.ActionReplace && p.UID != "" && claim.UID == p.UID
}

// forced reports whether a change or the strategy forces the replacement.
func (w *world) forced(p *model.Pod) bool { return w.forcedByChange(p) || w.forcedByStrategy(p) }

func (w *world) forcedByChange(p *model.Pod) bool {
	return p.Phase != model.PodPhaseMissing && len(p.MustReplace) > 0
}

func (w *world) forcedByStrategy(p *model.Pod) bool {
	pool := w.pool(p)
	if !w.outdated(p) || rolling(pool) && pool.Force || w.correctedByRestart(p) {
		return false
	}
	switch w.spec.Replacement.UpdateStrategy {
	case model.UpdateReplace:
		return true
	case model.UpdateReplaceTransactionSystem:
		r := report(p)
		return r != nil && len(r.Roles) > 0 && !slices.ContainsFunc(r.Roles, func(role string) bool { return slices.Contains(w.s.Cluster.Engine.DataRoles, role) })
	}
	return false
}

// correctedByRestart reports whether an outdated pod is broken, and its restart as Outdated makes
// nothing unavailable.
func (w *world) correctedByRestart(p *model.Pod) bool {
	return w.outdated(p) && w.evidence(p) != "" && w.restartTakesNothingAway(p)
}

// hasFailed reports whether replacement is enabled, maxConcurrentFailed above 0, the pod not
// exempt, and a condition due.
func (w *world) hasFailed(p *model.Pod) bool {
	r := w.spec.Replacement
	if !r.Enabled || *r.MaxConcurrentFailed <= 0 || p.Exempt || w.correctedByRestart(p) {
		return false
	}
	return slices.ContainsFunc(p.Conditions, func(c model.PodCondition) bool {
		switch c.Type {
		case "MissingProcesses", "PodFailing", "MissingPod", "MissingPVC", "MissingService", "PodPending",
			"ProcessIsMarkedAsExcluded":
			return !c.Since.IsZero() && w.now().After(c.Since.Add(seconds(float64(r.FailureDetectionSeconds))))
		}
		return false
	}) || w.replacedForTaint(p)
}

// replacedForTaint reports whether the pod has been NodeTaintReplacing for long enough.
func (w *world) replacedForTaint(p *model.Pod) bool {
	since, known := w.taintReplacingSince(p)
	return known && w.now().After(since.Add(seconds(float64(w.spec.Replacement.TaintReplacementSeconds))))
}

// taintReplacingSince returns since when: from since of the recorded condition (without a key), if
// the node is unknown or a taint of it has an option; otherwise from the earliest time at which a
// taint has stood for its option's durationSeconds.
func (w *world) taintReplacingSince(p *model.Pod) (time.Time, bool) {
	node := w.node(p)
	for _, c := range p.Conditions {
		if c.Type != "NodeTaintReplacing" || c.Key != "" || c.Since.IsZero() {
			continue
		}
		if node == nil || slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return w.option(p, t) != nil }) {
			return c.Since.Time, true
		}
	}
	if node == nil {
		return time.Time{}, false
	}
	var earliest time.Time
	for _, t := range node.Taints {
		duration, stands := w.option(p, t), taintedSince(p, t)
		if duration == nil || stands.IsZero() || *duration > tenYears {
			continue // it leads to nothing
		}
		at := stands.Add(seconds(float64(*duration)))
		if earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
	}
	return earliest, !earliest.IsZero()
}

// option returns that of the taint's key, or else of "*" unless the pod tolerates the taint. An
// option without a duration is none.
func (w *world) option(p *model.Pod, t model.Taint) *int64 {
	durations := map[string]*int64{}
	for _, o := range w.spec.Replacement.Taints {
		if o.DurationSeconds != nil {
			durations[o.Key] = o.DurationSeconds
		}
	}
	duration := durations[t.Key]
	if duration == nil && !slices.Contains(p.Tolerates, t.Key) {
		duration = durations["*"]
	}
	return duration
}

// taintedSince returns the later of its own since and that of a condition NodeTaintDetected with
// its key.
func taintedSince(p *model.Pod, t model.Taint) time.Time {
	since := t.Since.Time
	for _, c := range p.Conditions {
		if c.Type == "NodeTaintDetected" && c.Key == t.Key && c.Since.After(since) {
			since = c.Since.Time
		}
	}
	return since
}

// onlyForTheUpdate reports whether the replacement is forced, and the pod neither marked nor
// failed.
func (w *world) onlyForTheUpdate(p *model.Pod) bool {
	return w.forced(p) && !w.marked(p) && !w.hasFailed(p)
}

// inFlight reports whether the pod is being emptied: marked, or going for good and not Missing.
func (w *world) inFlight(p *model.Pod) bool {
	if w.marked(p) || w.goesForGood(p) && p.Phase != model.PodPhaseMissing {
		return !p.Removal.Excluded && !w.shutdown(p) && !w.emptied(p)
	}
	c := find(w.chosen, p)
	return c != nil && c.action == model.ActionReplace && !p.Removal.Excluded
}

// emptied reports whether its claim (for this UID, or of a Missing pod, action Replace or Remove)
// says so.
func (w *world) emptied(p *model.Pod) bool {
	c := w.claim(p)
	return c != nil && (c.UID == p.UID || p.Phase == model.PodPhaseMissing) && givesUp(c) && saysEmptied(c)
}

func givesUp(c *model.Claim) bool {
	return c.Action == model.ActionReplace || c.Action == model.ActionRemove
}

func saysEmptied(c *model.Claim) bool {
	switch c.Phase {
	case model.PhaseDrained, model.PhaseEmptied, model.PhaseOpened, model.PhaseGone:
		return true
	}
	return c.EmptiedAt != nil
}

// unknownInFlight reports whether claims to replace or remove of unknown pods count, unless emptied
// so.
func unknownInFlight(c *model.Claim) bool { return givesUp(c) && !saysEmptied(c) }

func (w *world) flights() int {
	n := 0
	for _, p := range w.pods {
		if w.inFlight(p) {
			n++
		}
	}
	for _, c := range w.unknownClaims() {
		if unknownInFlight(c) {
			n++
		}
	}
	return n
}

// forcedPasses reports whether the pod is forced, and maxConcurrentMisconfigured is not set or
// above F.
func (w *world) forcedPasses(c *candidate) bool {
	limit := w.spec.Replacement.MaxConcurrentMisconfigured
	return w.forced(c.Pod) && (limit == nil || int(*limit) > w.flights())
}

// tooManyInFlight is what pod-budget requires for a pod to be replaced that is not marked.
func (w *world) tooManyInFlight(c *candidate) bool {
	switch {
	case w.forcedPasses(c):
		return false
	case !w.hasFailed(c.Pod):
		return true
	case w.spec.Replacement.FaultDomainBased:
		return false
	}
	return w.flights() >= int(*w.spec.Replacement.MaxConcurrentFailed)
}

// asksForZones reports whether the pod has failed, with faultDomainBased.
func (w *world) asksForZones(c *candidate) bool {
	return c.action == model.ActionReplace && !w.marked(c.Pod) && !w.forcedPasses(c) && w.hasFailed(c.Pod) &&
		w.spec.Replacement.FaultDomainBased
}

func (w *world) replacementNeedsZone(c *candidate) bool {
	return w.asksForZones(c) && w.zone(c.Pod) == ""
}

// tooManyZonesInFlight reports whether the zones in flight are more than maxConcurrentFailed, or as
// many and its own is not among them.
func (w *world) tooManyZonesInFlight(c *candidate) bool {
	if !w.asksForZones(c) {
		return false
	}
	zones, limit := w.zonesOf(w.inFlight, unknownInFlight), int(*w.spec.Replacement.MaxConcurrentFailed)
	return len(zones) > limit || len(zones) == limit && !zones["zone "+w.zone(c.Pod)]
}
