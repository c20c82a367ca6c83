package policy

import (
	"math"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// retry notes a time at which the answer will change by itself.
func (d *decision) retry(t time.Time) {
	if t.After(d.x.Now) && (d.retryAt.IsZero() || t.Before(d.retryAt)) {
		d.retryAt = t
	}
}

// retryAfter returns the time until a clock, not an event, changes the answer.
func (d *decision) retryAfter() int64 {
	if len(d.holds) == 0 || d.heldRegardlessOfTime() {
		d.retryAt = time.Time{}
	} else {
		d.retryHeld()
	}
	d.retry(d.x.ReplaceAt)
	if d.retryAt.IsZero() {
		return 0
	}
	return max(1, int64(math.Ceil(d.retryAt.Sub(d.x.Now).Seconds())))
}

// retryHeld notes when held or unavailable pods may no longer be.
func (d *decision) retryHeld() {
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		d.retry(p.SoakTill)
		d.retry(d.x.LastsAt(p))
		if p.HasBroken(true) {
			d.retry(d.patienceEnds())
		}
		if !p.Since.IsZero() && d.x.TimeDecides(p, d.x.Dead) {
			d.retry(p.Since.Add(d.x.StartSeconds()))
		}
		if p.Phase == model.PodPhaseStarted && p.Live && len(d.steps) == 0 { // it may go before its turn
			d.retry(p.Since.Add(d.x.StartSeconds()))
		}
	}
}

// heldRegardlessOfTime reports whether a rule that no clock ends, and that spares no pod, holds the
// whole cluster.
func (d *decision) heldRegardlessOfTime() bool {
	for i, f := range d.findings {
		r := &rules[i]
		if f != nil && !r.sparesBroken && f.retryAt.IsZero() && len(d.over[r.name]) == 0 {
			return true
		}
	}
	return false
}
