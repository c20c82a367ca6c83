package progress

import "github.com/rollcall-dev/rollcall/coordinator/model"

// StageOf counts how far a claim is, from 0.
func StageOf(c model.Claim) int { return c.Phase.Order() + 1 }

// HasGone reports whether the claim's pod has gone. uid is that of the pod that has its name now: a
// claim that is given up is Restoring, too, and its pod stays.
func HasGone(c model.Claim, uid string) bool {
	return Reached(c.Phase, model.PhaseGone) && (c.Phase != model.PhaseRestoring || c.UID != uid)
}

// Passed reports whether a claim that went from one phase to another entered, on its way, the
// third. Phases may be skipped between two decisions.
func Passed(from, to, phase model.ClaimPhase) bool {
	return from.Order() < phase.Order() && phase.Order() <= to.Order()
}

// Reached reports whether a claim's phase is the other or a later one.
func Reached(phase, other model.ClaimPhase) bool {
	return phase.Order() >= other.Order()
}
