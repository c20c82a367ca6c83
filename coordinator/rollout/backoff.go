package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// backoff describes a pod that is left alone for a while because a claim on it was given up for a
// reason that no snapshot shows.
type backoff struct {
	rule   model.Rule
	reason string
	until  time.Time
	times  int
}

// leaveAlone begins a back-off. Each is longer than the one before.
func (a *step) leaveAlone(uid string, rule model.Rule, reason string) {
	r := a.s.backoffs[uid]
	if r == nil {
		r = &backoff{}
		a.s.backoffs[uid] = r
	}
	r.rule, r.reason = rule, reason
	r.until = a.now.Add(min(firstBackoff<<min(r.times, 8), lastBackoff))
	r.times++
}

// backsOff reports whether a pod is to be left alone.
func (a *step) backsOff(uid string) bool {
	r := a.s.backoffs[uid]
	return r != nil && a.now.Before(r.until)
}

func (a *step) wakeForBackoffs() {
	for _, r := range a.s.backoffs {
		if a.now.Before(r.until) {
			a.out.wake(r.until)
		}
	}
}
