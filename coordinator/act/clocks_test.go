package act

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// For how long a prepare has been waited for is counted by one clock: the claim may say
// by a predecessor's when it was made, and that may be minutes ahead or behind.
func TestTimeoutsAreCountedByOneClock(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		started, taken, queued time.Duration // ago
		inherited, out         bool
	}{
		"its own, in time":                         {started: 59 * time.Second},
		"its own, too late":                        {started: 61 * time.Second, out: true},
		"its own, others were in front":            {started: 61 * time.Second, queued: 30 * time.Second},
		"of one whose clock was 5 min behind":      {started: 5 * time.Minute, taken: 10 * time.Second, inherited: true},
		"of one whose clock was 5 min ahead":       {started: -5 * time.Minute, taken: 10 * time.Second, inherited: true},
		"of one who was ahead, waited for by both": {started: -5 * time.Minute, taken: 61 * time.Second, inherited: true, out: true},
	} {
		t.Run(name, func(t *testing.T) {
			at := Situation{Now: now}
			at.Snapshot.Cluster.Spec.Drain.TimeoutSeconds = 60
			r := &run{inherited: c.inherited}
			if c.inherited {
				r.takenAt = now.Add(-c.taken)
			}
			if c.queued != 0 {
				r.queuedTill = now.Add(-c.queued)
			}
			claim := policy.Claim{Prepare: policy.PrepareHandoff, StartedAt: policy.At(now.Add(-c.started))}
			require.Equal(t, c.out, timedOut(at, claim, r))
		})
	}
}
