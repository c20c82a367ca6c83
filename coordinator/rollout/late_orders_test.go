package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is known of the orders to an agent says until when it may still be writing.
func TestUntilWhenAnAgentMayWrite(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	soon, later := now.Add(time.Second), now.Add(time.Minute)
	for name, c := range map[string]struct {
		attempt attempt
		want    time.Time
	}{
		"it was asked nothing":                    {attempt{}, time.Time{}},
		"it prepares":                             {attempt{notAfter: soon}, soon},
		"it has prepared":                         {attempt{notAfter: soon, heard: Heard{Prepared: true}}, time.Time{}},
		"it has prepared, and one order was lost": {attempt{notAfter: later, lostTill: soon, heard: Heard{Prepared: true}}, soon},
		"its time was up":                         {attempt{notAfter: soon, overdue: true, heard: Heard{Prepared: true}}, soon},
		"its pod broke meanwhile":                 {attempt{notAfter: soon, spared: true, heard: Heard{Prepared: true}}, soon},
		"it prepares, and one order was lost":     {attempt{notAfter: later, lostTill: soon}, later},
	} {
		require.Equal(t, c.want, c.attempt.mayWriteUntil(), name)
	}
}

// A setting is put back after the last order to an agent that nobody has answered.
func TestASettingOutlastsAnOrderThatWasLost(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a := stepOn(Facts{}, now)
	a.Snapshot.Cluster.Spec.Policy.StartSeconds = 600
	c := Case{Pod: Gone, Listed: true, Rejoined: true, Heard: Heard{Confirmed: true, Prepared: true}}
	r := &attempt{heard: c.Heard, lostTill: now.Add(20 * time.Second)}
	a.noteOver(c, r)
	require.False(t, r.over)
	require.Equal(t, r.lostTill, a.out.Wake)
	a.now = r.lostTill
	a.noteOver(c, r)
	require.True(t, r.over)
}
