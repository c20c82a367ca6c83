package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Units", "An outage that has begun".

// outageBegun reports whether a desired pod is outdated, and a desired pod has gone by a claim of
// reason Outdated; or the verdict is Red or unknown, or none of the outdated pods is live, and at
// least as many desired pods are on their pool's revision as are outdated, or one is and one of the
// outdated is claimed with reason Outdated.
func (w *world) outageBegun() bool {
	var outdated, through []*model.Pod
	gone := false
	for _, p := range w.pods {
		if !w.desired(p) || !w.pool(p).Observed || w.pool(p).Revision == "" {
			continue
		}
		switch {
		case w.outdated(p):
			outdated = append(outdated, p)
		case p.Phase != model.PodPhaseMissing:
			through = append(through, p)
		}
		if w.claimed(p) {
			c := w.claim(p)
			away := p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseTerminating || c.UID != "" && p.UID != "" && c.UID != p.UID
			gone = gone || away && c.Reason == model.ReasonOutdated
		}
	}
	if !w.outage() || len(outdated) == 0 {
		return false
	}
	known := []model.Verdict{model.VerdictYellow, model.VerdictRecoverable, model.VerdictGreen}
	works := slices.Contains(known, w.s.Health.Verdict)
	claimed := slices.ContainsFunc(outdated, func(p *model.Pod) bool { return w.claimed(p) && w.claim(p).Reason == model.ReasonOutdated })
	enough := len(through) >= len(outdated) || len(through) > 0 && claimed
	return gone || enough && (!works || !slices.ContainsFunc(outdated, w.live))
}

// follows reports whether it is outdated, brings an update, comes back in its place, and keeps its
// data.
func (w *world) follows(c *candidate) bool {
	return w.outageBegun() && w.outdated(c.Pod) && !w.bringsNoUpdate(c) && !c.lost && !c.leaves
}

// excusedByOutage reports whether the pod, under sameMinor in such an outage, is Started or Ready,
// and its problem is neither CrashLoop nor StartupProbe.
func (w *world) excusedByOutage(p *model.Pod) bool {
	return w.s.Cluster.Engine.SameMinor && w.outageBegun() && (p.Phase == model.PodPhaseStarted || p.Phase == model.PodPhaseReady) &&
		p.Problem != model.ProblemCrashLoop && p.Problem != model.ProblemStartupProbe
}
