package progress

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Phases are the phases of a claim in their order; an unknown one is before all others.
var Phases = []policy.ClaimPhase{
	policy.PhaseClaimed, policy.PhasePreparing, policy.PhasePrepared, policy.PhaseEmptied, policy.PhaseOpened,
	policy.PhaseGone, policy.PhaseRejoined, policy.PhaseRestoring, policy.PhaseSettling,
}

// StageOf counts how far a claim is, from 0.
func StageOf(c policy.Claim) int { return slices.Index(Phases, c.Phase) + 1 }

// HasGone says whether the claim's pod went away. uid is that of the pod that has
// its name now: a claim that is given up is Restoring, too, and its pod stays.
func HasGone(c policy.Claim, uid string) bool {
	return Reached(c.Phase, policy.PhaseGone) && (c.Phase != policy.PhaseRestoring || c.UID != uid)
}

// Passed says whether a claim that went from one phase to another entered, on
// its way, the third. Phases may be skipped between two decisions.
func Passed(from, to, phase policy.ClaimPhase) bool {
	at := slices.Index(Phases, phase)
	return slices.Index(Phases, from) < at && at <= slices.Index(Phases, to)
}

// Reached says whether a claim's phase is the other or a later one.
func Reached(phase, other policy.ClaimPhase) bool {
	return slices.Index(Phases, phase) >= slices.Index(Phases, other)
}
