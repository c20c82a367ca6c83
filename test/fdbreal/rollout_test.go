package fdbreal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRolling restarts every process, zone by zone, under a writer: nothing that was acknowledged is lost, no write fails for
// good, and never are processes of two zones away at once.
func TestRolling(t *testing.T) {
	c := Start(t, Options{Data: 50})
	r := NewRollcall(t, c)
	watch, writer := c.StartWatch(t), c.StartWriter(t)
	begun := time.Now()
	o := NewRollout(t.Context(), r)
	require.NoError(t, o.Run(25*time.Minute))
	took := time.Since(begun)
	time.Sleep(2 * time.Second)
	stats, lost, err := writer.Stop(t.Context())
	require.NoError(t, err)
	seen := watch.Stop()
	t.Logf("%d pods in %s: %s; %d lost; %s", len(o.Went), took.Round(time.Second), stats, len(lost), seen)
	require.Empty(t, lost)
	require.Zero(t, stats.Failed)
	require.Len(t, o.Went, len(c.Pods))
	var runs []string
	for _, g := range o.Went {
		require.Empty(t, g.Away, "%s of %s went while others were away", g.Pod, g.Zone)
		if len(runs) == 0 || runs[len(runs)-1] != g.Zone {
			runs = append(runs, g.Zone)
		}
	}
	require.LessOrEqual(t, len(runs), 3*len(zones), "classes go one after the other, each of them zone by zone")
	require.GreaterOrEqual(t, seen.Least, 1)
}
