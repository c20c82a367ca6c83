package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "What the plan says besides".

// onRequest are the holds that somebody asked for.
var onRequest = []model.Rule{
	model.RuleObserveOnly, model.RulePaused, model.RuleOutsideWindow, model.RuleFleetFull, model.RuleApproval, model.RuleCanary, model.RulePrimary,
}

// phase returns the first phase that applies.
func (w *world) phase(v *Verdict) model.ClusterPhase {
	nobody, step, claim := len(v.Order) == 0, len(v.Steps) > 0, len(w.s.Cluster.Status.Claims) > 0
	switch {
	case w.paused():
		return model.ClusterPaused
	case nobody && !step && !claim && len(v.Holds) == 0 && v.Budget.Pods.Away == 0 && w.allRevisionsKnown():
		return model.ClusterDone
	case nobody && !step && !claim:
		return model.ClusterIdle
	case w.noProgress() && (claim || !step && w.inVain(v)):
		return model.ClusterStalled
	case !step && !claim && w.correctionBlocked(v):
		return model.ClusterStalled
	case step || claim:
		return model.ClusterRolling
	}
	return model.ClusterWaiting
}

// allRevisionsKnown reports whether there are pools, all with a revision, or with all their pods
// Missing.
func (w *world) allRevisionsKnown() bool {
	return len(w.s.Pools) > 0 && !slices.ContainsFunc(w.s.Pools, func(pool model.Pool) bool {
		return pool.Revision == "" && slices.ContainsFunc(w.pods, func(p *model.Pod) bool { return p.Pool == pool.Name && p.Phase != model.PodPhaseMissing })
	})
}

// noProgress reports whether lastProgress is at least progressSeconds ago.
func (w *world) noProgress() bool {
	at := w.s.Cluster.Status.LastProgress
	return at != nil && !at.IsZero() &&
		!at.Add(seconds(float64(w.spec.Policy.ProgressSeconds))).After(w.now())
}

// inVain reports whether a pod is held, and not on request, nor only because of pods that are.
func (w *world) inVain(v *Verdict) bool {
	asked, left := map[string]bool{}, false
	anybodyAsked := false
	for _, h := range v.Holds {
		if w.isOnRequest(h) {
			asked[h.Pod], anybodyAsked = true, true
		}
	}
	for _, h := range v.Holds {
		switch {
		case w.isOnRequest(h):
		case h.Pod != "" && w.waitsForOthers(h):
			left = true
		default:
			return true
		}
	}
	othersAway := slices.ContainsFunc(w.pods, func(p *model.Pod) bool { return w.away(p) && !asked[p.Name] })
	return left && (!anybodyAsked || othersAway)
}

// isOnRequest reports whether a hold is on request. A hold by canary is only if at least k of the
// desired pods on the pool's revision are not unavailable, or only soak.
func (w *world) isOnRequest(h model.Hold) bool {
	if h.Rule != model.RuleCanary {
		return slices.Contains(onRequest, h.Rule)
	}
	back := 0
	for _, p := range w.pods {
		if p.Pool == w.podNamed(h.Pod).Pool && w.desired(p) && w.onRevision(p) && (!w.away(p) || w.way(p) == isSoaking) {
			back++
		}
	}
	return back >= int(w.spec.Update.Canary.Pods)
}

// waitsForOthers reports whether a hold waits for others: rank-order, leader-last, ordered-ready;
// version-order if all pods of after are known; and version-refused if others would stay behind
// only because they are held.
func (w *world) waitsForOthers(h model.Hold) bool {
	p := w.podNamed(h.Pod)
	switch h.Rule {
	case model.RuleRankOrder, model.RuleLeaderLast, model.RuleOrderedReady:
		return true
	case model.RuleVersionOrder:
		return !slices.ContainsFunc(report(p).After, func(name string) bool { return w.podNamed(name) == nil })
	case model.RuleVersionRefused:
		return !w.versionRefused(find(w.order, p)) && !w.staysByTemplate
	}
	return false
}

// correctionBlocked reports whether ordered-ready holds a correction below the partition in its
// last place, because of others between.
func (w *world) correctionBlocked(v *Verdict) bool {
	return slices.ContainsFunc(v.Holds, func(h model.Hold) bool {
		c := find(w.order, w.podNamed(h.Pod))
		return c != nil && c.outside && w.heldByPartition[c] && !w.goesBackUp(w.pool(c.Pod)) && len(w.between(c)) > 0
	})
}
