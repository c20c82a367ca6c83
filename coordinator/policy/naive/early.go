package naive

import (
	"maps"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Section "Before their turn".

// hasCopy of such a state, on a live pod.
func (w *world) hasCopy(p *policy.Pod, states ...policy.MemberState) bool {
	return w.live(p) && w.members(p, func(m *policy.Member) bool { return slices.Contains(states, m.State) }) > 0
}

// hasBrokenCopy: one that is Down on a live pod; or Recovering, once the rollout has
// made no progress for progressSeconds.
func (w *world) hasBrokenCopy(p *policy.Pod) bool {
	return w.hasCopy(p, policy.Down) || w.noProgress() && w.hasCopy(p, policy.Recovering)
}

// mayComeBackAlone: it is away, is not live or has no such copy, is not broken, and is
// Ready or not overdue.
func (w *world) mayComeBackAlone(p *policy.Pod) bool {
	return w.away(p) && !w.hasBrokenCopy(p) && w.evidence(p) == "" && (p.Phase == policy.Ready || !w.overdue(p))
}

// nothingElseGoes: nobody was chosen, nobody is claimed, and nobody may come back alone.
func (w *world) nothingElseGoes() bool {
	return len(w.chosen) == 0 && w.podsClaimed() == 0 && !slices.ContainsFunc(w.pods, w.mayComeBackAlone)
}

// beforeItsTurn chooses at most one pod when nothing else goes: the first of those with
// such a copy that passes.
func (w *world) beforeItsTurn() *candidate {
	if !w.nothingElseGoes() {
		return nil
	}
	heldByLine := maps.Clone(w.heldByLine)
	defer func() { w.heldByLine, w.early = heldByLine, nil }()
	for _, c := range w.order {
		if !w.hasBrokenCopy(c.Pod) {
			continue
		}
		w.early = c
		if len(w.ask([]*candidate{c})) == 0 {
			return c
		}
	}
	return nil
}
