package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Recheck asks a claimed pod once more, alone: section "Asked again at the barrier".
// It may go, or is held, or, with neither, should not go any more.
func Recheck(s policy.Snapshot, pod string) (*policy.Step, *policy.Hold) {
	w := newWorld(&s)
	w.barrier = pod
	if w.makesNoSense() {
		return nil, &policy.Hold{Pod: pod, Rule: policy.BadInput} // whatever else is true of it
	}
	w.order = w.candidates()
	c := find(w.order, w.podNamed(pod))
	if c == nil {
		return nil, nil
	}
	if left := w.withoutWhoStandsBehind(c); len(left) < len(s.Cluster.Status.Claims) {
		s.Cluster.Status.Claims = left
		return Recheck(s, pod)
	}
	w.batch = []*candidate{c}
	if stuck := true; w.claimedBeforeItsTurn(c.Pod) && w.goesBeforeItsTurn(c, stuck) {
		w.early = c // by now others may wait for its claim
	}
	if rule, group, held := w.firstHold(c); held {
		return nil, &policy.Hold{Pod: pod, Rule: rule, Group: group}
	}
	step := w.step(c)
	step.BeforeTurn = w.early == c
	return &step, nil
}

// withoutWhoStandsBehind are the claims that count for the pod that is asked again.
func (w *world) withoutWhoStandsBehind(c *candidate) []policy.Claim {
	var left []policy.Claim
	for _, claim := range w.s.Cluster.Status.Claims {
		if p := w.podNamed(claim.Pod); p == nil || !w.standsBehind(p, claim, c) {
			left = append(left, claim)
		}
	}
	return left
}

// standsBehind: claimed with action LowerPartition, not Terminating, and it waits for the
// pod that is asked again by the line, unless guards keep the controller from that one.
// Nobody does in an outage.
func (w *world) standsBehind(p *policy.Pod, claim policy.Claim, c *candidate) bool {
	return claim.Action == policy.LowerPartition && p.Phase != policy.Terminating && w.waitsByTheLine(p, c) &&
		!w.heldByGuards([]*policy.Pod{c.Pod}) && !w.outage()
}

// claimedBeforeItsTurn: its own claim says so.
func (w *world) claimedBeforeItsTurn(p *policy.Pod) bool {
	return slices.ContainsFunc(w.s.Cluster.Status.Claims, func(c policy.Claim) bool { return c.Pod == p.Name && c.BeforeTurn })
}
