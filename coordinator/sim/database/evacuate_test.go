package database

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/engines"
)

// A leader that hands over while the copy of its successor moves away does not make a
// member the leader that has no copy any more.
func TestNobodyLeadsWithoutACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := clock.New(1)
		times := DefaultTimes()
		times.Recovery, times.Handover = [2]time.Duration{time.Second, time.Second}, [2]time.Duration{2 * time.Second, 2 * time.Second}
		d := New(loop, times)
		d.Move(false)
		for _, pod := range []string{"db-0", "db-1", "db-2"} {
			d.AddLive(pod, "9.9.0")
		}
		d.AddShard("books/s1", "db-0", "db-1")
		loop.In(0, func() {
			defer d.change()()
			d.handOver(NodeName("db-0"), engines.Order{Claim: "c1", Kind: engines.Handoff})
			d.evacuate(NodeName("db-1"), "c2")
		})
		loop.In(5*time.Second, loop.Stop)
		loop.Run()
		shard := d.Truth()[0]
		require.Contains(t, []string{"db-0", "db-2"}, shard.Leader)
	})
}
