package progress

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Judge says in which phase a moment is, given whether the one before was stalled and whether
// something became better since. The policy says when nothing got better for too long. This adds
// other stalls, and what does not end a stall. next is when time alone will change that, or zero if
// it will not.
func Judge(m *Moment, wasStalled, better bool) (phase model.ClusterPhase, next time.Time) {
	late, next := settingLate(m)
	switch {
	case m.Plan.Phase == model.ClusterPaused:
		return model.ClusterPaused, next
	case late:
		return model.ClusterStalled, time.Time{}
	case !better && wasStalled && m.Plan.Phase == model.ClusterRolling:
		// Trying again what failed before does not end a stall.
		return model.ClusterStalled, next
	}
	return m.Plan.Phase, next
}

// settingLate reports whether a cluster setting could not be restored for longer than a rollout may
// make no progress. next is when that will be so.
func settingLate(m *Moment) (late bool, next time.Time) {
	for name := range m.Settings {
		due := m.DecidedAt.Add(m.stallAfter())
		if at, known := m.HeldSince[SettingKey(name)]; known {
			due = at.Add(m.stallAfter())
		}
		if !due.After(m.DecidedAt) {
			return true, time.Time{}
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return false, next
}

// StallsAt is when the rollout stalls if nothing becomes better until then. It returns zero if it
// cannot.
func (p Progress) StallsAt(m *Moment) time.Time {
	if len(m.Plan.Order)+len(m.Claims) == 0 {
		return time.Time{}
	}
	return p.at.Add(m.stallAfter())
}
