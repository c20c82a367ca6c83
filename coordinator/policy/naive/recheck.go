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

// claimedBeforeItsTurn: its own claim says so.
func (w *world) claimedBeforeItsTurn(p *policy.Pod) bool {
	return slices.ContainsFunc(w.s.Cluster.Status.Claims, func(c policy.Claim) bool { return c.Pod == p.Name && c.BeforeTurn })
}
