package rollout

import (
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// learn applies the result of an effect to the state. TestEachResultIsLearned requires a case for
// each type.
func (a *step) learn(res effect.Result) {
	switch res := res.(type) {
	case effect.DrainPlanned:
		a.learnDrainPlanned(res)
	case effect.DrainAnswered:
		a.learnDrainAnswered(res)
	case effect.HandedOff:
		a.learnHandedOff(res)
	case effect.Observed:
		a.learnObserved(res)
	case effect.GuardOpened:
		a.learnGuardOpened(res)
	case effect.Evicted:
		a.learnEvicted(res)
	case effect.GuardClosed:
		a.learnGuardClosed(res)
	case effect.Restored:
		a.learnRestored(res)
	case effect.GoneConfirmed:
		a.learnGoneConfirmed(res)
	case effect.SetFound:
		a.learnSetFound(res)
	case effect.VolumesFound:
		a.learnVolumesFound(res)
	case effect.VolumesDeleted:
		a.learnVolumesDeleted(res)
	case effect.VolumesAwaited:
		a.learnVolumesAwaited(res)
	case effect.PartitionMoved:
		a.learnPartitionMoved(res)
	case effect.SettingRestored:
		a.learnSettingRestored(res)
	case effect.PendingRestored:
		a.learnPendingRestored(res)
	case effect.DeletedByForce:
		a.learnDeletedByForce(res)
	case effect.RolesLabelled:
		a.learnRolesLabelled(res)
	default:
		panic(fmt.Sprintf("nobody learns from a %T", res))
	}
}

// noteSuperseded notes whether an error means that another coordinator leads.
func (a *step) noteSuperseded(err error) {
	if errors.Is(err, effect.ErrSuperseded) || errors.Is(err, effect.ErrStaleEpoch) {
		a.s.superseded = true
	}
}
