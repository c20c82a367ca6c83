package rollout

import "time"

// A claim reserves budget that others could use. So a claim whose pod may not go is kept for a
// while, and then given up.

// holding is since when a claim is held.
type holding struct {
	// heldSince is since when a drained pod has been held without a break. It is zero if it is not
	// held.
	heldSince time.Time
}

// held notes that a claimed pod may not go, and ends the claim if that lasts.
func (r *attempt) held(now time.Time, why string) {
	if r.heldSince.IsZero() {
		r.heldSince = now
	}
	if now.Sub(r.heldSince) > patience {
		r.abandon("held for too long by "+why, "")
	}
}

// notHeld notes that nothing holds the pod, or that nobody has found out yet.
func (r *attempt) notHeld() { r.heldSince = time.Time{} }

// patienceEnds returns when the claim is given up if the pod is held until then. It returns zero if
// the pod is not held.
func (r *attempt) patienceEnds() time.Time {
	if r.heldSince.IsZero() {
		return time.Time{}
	}
	return r.heldSince.Add(patience + 1)
}

// losePatience ends a claim that has been held for too long, because it reserves budget that others
// could use.
func (a *step) losePatience(r *attempt, k kept, c *Case) {
	switch {
	case !k.asked:
	case k.why != "":
		r.held(a.now, k.why)
	default:
		r.notHeld()
	}
	if c.SettingBusy {
		r.settingBusyUntil = a.now // that does not count as time of its own drain
	}
	c.GiveUp, c.Known = r.giveUp != "", r.known
}
