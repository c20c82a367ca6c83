package rollout

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// The time for which a drain is awaited is counted by one clock. The claim may have been made by a
// predecessor's clock, which may be minutes ahead or behind.
func TestTimeoutsAreCountedByOneClock(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		started, taken, queued time.Duration // ago
		out                    bool
	}{
		"its own, in time":                         {started: 59 * time.Second, taken: 59 * time.Second},
		"its own, too late":                        {started: 61 * time.Second, taken: 61 * time.Second, out: true},
		"its own, others were in front":            {started: 61 * time.Second, taken: 61 * time.Second, queued: 30 * time.Second},
		"of one whose clock was 5 min behind":      {started: 5 * time.Minute, taken: 10 * time.Second},
		"of one whose clock was 5 min ahead":       {started: -5 * time.Minute, taken: 10 * time.Second},
		"of one who was ahead, waited for by both": {started: -5 * time.Minute, taken: 61 * time.Second, out: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := stepOn(Facts{}, now)
			a.Snapshot.Cluster.Spec.Drain.TimeoutSeconds = 60
			r := &attempt{takenAt: now.Add(-c.taken)}
			if c.queued != 0 {
				r.settingBusyUntil = now.Add(-c.queued)
			}
			claim := model.Claim{Prepare: model.PrepareHandoff, StartedAt: model.At(now.Add(-c.started))}
			require.Equal(t, c.out, a.timedOut(claim, r))
		})
	}
}

// The coordinator's clock is set ahead by ten minutes a second after it has made a claim.
func TestDrainIsNotLateWhenTheClockIsSet(t *testing.T) {
	began := time.Now()
	claim := model.Claim{ID: "c", StartedAt: model.At(began), Prepare: model.PrepareHandoff}
	a := stepOn(Facts{}, began)
	a.s.made["c"] = true
	r := a.attemptOf(claim)
	for _, step := range []time.Duration{0, 10 * time.Minute} {
		a.now = stepped(began.Add(time.Second), step)
		a.Snapshot.Cluster.Spec = model.Spec{Drain: model.Drain{OnTimeout: model.TimeoutProceed}}.WithDefaults()
		require.Equal(t, time.Second, a.now.Sub(began), "by the monotonic clock")
		require.False(t, a.timedOut(claim, r), "a drain of 1 s is no late one")
		a.now = stepped(began.Add(6*time.Minute), -step)
		require.True(t, a.timedOut(claim, r), "6 min have gone by")
	}
}

// stepped returns t as a process reads it whose wall clock was set ahead by d. Its monotonic clock
// is unchanged.
func stepped(t time.Time, d time.Duration) time.Time {
	if t.String() == t.Round(0).String() {
		panic("no monotonic reading")
	}
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(d/time.Second) << 30
	return t
}
