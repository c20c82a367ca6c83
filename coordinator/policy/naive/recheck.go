package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Recheck asks about a claimed pod once more, alone: section "Asked again at the barrier". It may
// go, or is held, or, with neither, should not go any more.
func Recheck(s model.Snapshot, pod string) (*model.Step, *model.Hold) {
	return recheck(s, pod, "")
}

// recheck rechecks a pod that goes with the correction of another one, if that has a name.
func recheck(s model.Snapshot, pod, corrected string) (*model.Step, *model.Hold) {
	w := newWorld(&s)
	w.barrier = pod
	if w.makesNoSense() {
		return nil, &model.Hold{Pod: pod, Rule: model.RuleBadInput} // whatever else is true
	}
	w.order = w.candidates()
	c := find(w.order, w.podNamed(pod))
	if c == nil {
		return nil, nil
	}
	if left, corrected := w.withoutWhoStandsBehind(c); len(left) < len(s.Cluster.Status.Claims) {
		s.Cluster.Status.Claims = left
		return recheck(s, pod, corrected)
	}
	w.batch, w.corrected = []*candidate{c}, w.podNamed(corrected)
	if stuck := true; w.claimedBeforeItsTurn(c.Pod) && w.goesBeforeItsTurn(c, stuck) {
		w.early = c // others may be waiting for its claim
	}
	if rule, group, held := w.firstHold(c); held {
		return nil, &model.Hold{Pod: pod, Rule: rule, Group: group}
	}
	step := w.step(c)
	step.BeforeTurn = w.early == c
	return &step, nil
}

// withoutWhoStandsBehind returns the claims that count for the rechecked pod, and the lowest pod of
// the others that is outside the budget and to be freed by LowerPartition: it goes with the
// correction of that one.
func (w *world) withoutWhoStandsBehind(c *candidate) (left []model.Claim, corrected string) {
	var lowest *candidate
	for _, claim := range w.s.Cluster.Status.Claims {
		p := w.podNamed(claim.Pod)
		if p == nil || !w.standsBehind(p, claim, c) {
			left = append(left, claim)
			continue
		}
		q := find(w.order, p)
		if q != nil && q.outside && w.freed(q) && (lowest == nil || q.Ordinal < lowest.Ordinal) {
			lowest, corrected = q, q.Name
		}
	}
	return left, corrected
}

// standsBehind reports whether the pod is claimed with action LowerPartition, is not Terminating,
// and waits for the rechecked pod because of the partition, unless guards keep the controller from
// that one. No pod does in an outage.
func (w *world) standsBehind(p *model.Pod, claim model.Claim, c *candidate) bool {
	return claim.Action == model.ActionLowerPartition && p.Phase != model.PodPhaseTerminating && w.waitsByPartition(p, c) &&
		!w.heldByGuards([]*model.Pod{c.Pod}) && !w.outage()
}

// claimedBeforeItsTurn reports whether its own claim says so.
func (w *world) claimedBeforeItsTurn(p *model.Pod) bool {
	return slices.ContainsFunc(w.s.Cluster.Status.Claims, func(c model.Claim) bool { return c.Pod == p.Name && c.BeforeTurn })
}
