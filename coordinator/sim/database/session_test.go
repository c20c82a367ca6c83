package database

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/engines"
)

// A member that has died without a word leaves the register in time, though its pod has
// been stopped once more and its next process has begun and never joins.
func TestADeadMemberIsNoticedThoughItsPodIsStoppedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := clock.New(1)
		d := New(loop, DefaultTimes())
		for _, pod := range []string{"db-0", "db-1"} {
			d.AddLive(pod, "9.9.0")
		}
		d.AddShard("books/s1", "db-0", "db-1")
		loop.In(0, func() { d.Stop("db-0", false) })
		loop.In(time.Second, func() { d.Stop("db-0", true) })
		loop.In(30*time.Second, loop.Stop)
		loop.Run()
		require.False(t, d.nodes[NodeName("db-0")].listed)
		require.Equal(t, engines.Down, d.shards[0].copies[0].state)
		require.Equal(t, NodeName("db-1"), d.shards[0].leader)
	})
}
