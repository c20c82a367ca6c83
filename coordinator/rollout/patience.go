package rollout

import "time"

// A claim reserves budget that others can use meanwhile. So one whose pod may not go is kept for a while, and then given up.

// holding is since when a claim is held.
type holding struct {
	// heldSince is when a drained pod was first held without a break. It is zero if it is not held.
	heldSince time.Time
}

// held notes that a claimed pod may not go, and ends the claim when that lasts.
func (r *attempt) held(now time.Time, why string) {
	if r.heldSince.IsZero() {
		r.heldSince = now
	}
	if now.Sub(r.heldSince) > patience {
		r.abandon("held for too long by "+why, "")
	}
}

// notHeld: nothing holds the pod, or nobody has found out yet.
func (r *attempt) notHeld() { r.heldSince = time.Time{} }

// patienceEnds is when the claim is given up if the pod is held until then. It returns zero if it
// is not held.
func (r *attempt) patienceEnds() time.Time {
	if r.heldSince.IsZero() {
		return time.Time{}
	}
	return r.heldSince.Add(patience + 1)
}

// losePatience ends a claim that is kept for too long: it reserves budget that others can use.
func (a *step) losePatience(r *attempt, k kept, c *Case) {
	switch {
	case !k.asked:
	case k.why != "":
		r.held(a.now, k.why)
	default:
		r.notHeld()
	}
	if c.SettingBusy {
		r.settingBusyUntil = a.now // that is not counted as time of its own drain
	}
	c.GiveUp, c.Known = r.giveUp != "", r.known
}
