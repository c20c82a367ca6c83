package naive

import "github.com/rollcall-dev/rollcall/coordinator/policy"

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
	if stuck := true; w.goesBeforeItsTurn(c, stuck) {
		w.early = c // by now others may wait for its claim
	}
	if rule, group, held := w.firstHold(c); held {
		return nil, &policy.Hold{Pod: pod, Rule: rule, Group: group}
	}
	step := w.step(c)
	return &step, nil
}
