package status

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// claimOrder is the order of the phases; an unknown one is before all others.
var claimOrder = []policy.ClaimPhase{
	policy.PhaseClaimed, policy.PhasePreparing, policy.PhasePrepared, policy.PhaseEmptied, policy.PhaseOpened,
	policy.PhaseGone, policy.PhaseRejoined, policy.PhaseRestoring, policy.PhaseSettling,
}

// StageOf counts how far a claim is, from 0.
func StageOf(c policy.Claim) int { return slices.Index(claimOrder, c.Phase) + 1 }

// HasGone says whether the claim's pod went away. uid is that of the pod that has
// its name now: a claim that is given up is Restoring, too, and its pod stays.
func HasGone(c policy.Claim, uid string) bool {
	return phaseReached(c.Phase, policy.PhaseGone) && (c.Phase != policy.PhaseRestoring || c.UID != uid)
}

// passed says whether a claim that went from one phase to another entered, on
// its way, the third. Phases may be skipped between two decisions.
func passed(from, to, phase policy.ClaimPhase) bool {
	at := slices.Index(claimOrder, phase)
	return slices.Index(claimOrder, from) < at && at <= slices.Index(claimOrder, to)
}

// phaseReached says whether a claim's phase is the other or a later one.
func phaseReached(phase, other policy.ClaimPhase) bool {
	return slices.Index(claimOrder, phase) >= slices.Index(claimOrder, other)
}
