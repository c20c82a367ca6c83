package fdbreal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestZoneLost kills all of a zone: from the first moment on, until the zone is back and the database is whole, nobody of another
// zone may go. Kubernetes shows the pods as Ready for 40 s, and their agents are gone without a word, as when nodes lose their power.
func TestZoneLost(t *testing.T) {
	c := Start(t, Options{Data: 50})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	watch, writer := c.StartWatch(t), c.StartWriter(t)
	r.Notices = 40 * time.Second
	lost := c.InZone("zone-b")
	r.Silence(lost...)
	c.Kill(lost...)
	asked := r.AskUntil(3*time.Minute, nil, "zone-b")
	t.Log("zone away:", asked)
	require.Empty(t, asked.Wrong)

	for _, p := range lost {
		c.Run(p)
	}
	r.Speak(lost...)
	t.Log(clock(), "the zone is back")
	whole := time.Time{}
	asked = r.AskUntil(6*time.Minute, func(_ model.Snapshot, plan model.Plan) bool {
		if at := watch.Seen(); whole.IsZero() && at.Now.Least >= 2 {
			whole = at.At
			t.Log(clock(), "every shard has two copies")
		}
		return len(r.goers(plan)) > 0
	}, zones...)
	t.Log("zone back:", asked)
	require.NotEmpty(t, asked.May, "nobody may go although the zone is back: %s", asked.Words)
	copies, err := c.Copies(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, copies.Least, 2)
	stats, gone, err := writer.Stop(t.Context())
	require.NoError(t, err)
	t.Logf("%s; %d lost; %s", stats, len(gone), watch.Stop())
	require.Empty(t, gone)
}

// TestZoneAwayAndAgentsSpeak is the same where the agents run on and Kubernetes never notices, as with containers that hang.
func TestZoneAwayAndAgentsSpeak(t *testing.T) {
	c := Start(t, Options{Data: 50})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	r.Notices = time.Hour
	watch := c.StartWatch(t)
	c.Kill(c.InZone("zone-c")...)
	asked := r.AskUntil(2*time.Minute, nil, "zone-c")
	t.Log(asked, watch.Stop())
	require.Empty(t, asked.Wrong)
}

// TestStorageLostAndRepaired kills one storage process for good: nobody of another zone may go while a shard has one copy, and
// when each has two again in the zones that are left, it is the minimum's affair and no longer a loss of data.
func TestStorageLostAndRepaired(t *testing.T) {
	c := Start(t, Options{Data: 50})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	r.Notices = time.Hour
	watch := c.StartWatch(t)
	p := c.Holder()
	c.Kill(p)
	begun := time.Now()
	asked := r.AskUntil(4*time.Minute, func(model.Snapshot, model.Plan) bool {
		return watch.Seen().Now.Least >= 2 && time.Since(begun) > 10*time.Second
	}, "zone-b")
	t.Logf("repaired after %s; %s; %s", time.Since(begun).Round(time.Second), asked, watch.Seen())
	require.Empty(t, asked.Wrong)
}

// TestPaused stops a process for 20 s, which Kubernetes cannot see: nobody of another zone may go meanwhile, and nothing is lost.
func TestPaused(t *testing.T) {
	for _, name := range []string{"fdb-1", "fdb-4"} {
		t.Run(name, func(t *testing.T) {
			c := Start(t, Options{Data: 50})
			r := NewRollcall(t, c)
			r.RequireAnybody(6 * time.Minute)
			writer := c.StartWriter(t)
			p := c.Pod(name)
			resume := c.Pause(p)
			begun := time.Now()
			asked := r.AskUntil(20*time.Second, nil, p.Zone)
			resume()
			t.Logf("paused for %s: %s", time.Since(begun).Round(time.Second), asked)
			require.Empty(t, asked.Wrong)
			r.RequireAnybody(4 * time.Minute)
			stats, lost, err := writer.Stop(t.Context())
			require.NoError(t, err)
			t.Logf("%s; %d lost", stats, len(lost))
			require.Empty(t, lost)
			require.Zero(t, stats.Failed)
		})
	}
}
