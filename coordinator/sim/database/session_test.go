package database

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/engines"
)

// withTwoCopies is a database of two members with a shard on both.
func withTwoCopies(t *testing.T, story func(loop *clock.Loop, d *Database)) {
	synctest.Test(t, func(t *testing.T) {
		loop := clock.New(1)
		d := New(loop, DefaultTimes())
		for _, pod := range []string{"db-0", "db-1"} {
			d.AddLive(pod, "9.9.0")
		}
		d.AddShard("books/s1", "db-0", "db-1")
		story(loop, d)
	})
}

// A member that has died without a word leaves the register in time, though its pod has
// been stopped once more and its next process has begun and never joins.
func TestADeadMemberIsNoticedThoughItsPodIsStoppedAgain(t *testing.T) {
	withTwoCopies(t, func(loop *clock.Loop, d *Database) {
		loop.In(0, func() { d.Stop("db-0", false) })
		loop.In(time.Second, func() { d.Stop("db-0", true) })
		loop.In(30*time.Second, loop.Stop)
		loop.Run()
		require.False(t, d.nodes[NodeName("db-0")].listed)
		require.Equal(t, engines.MemberDown, d.shards[0].copies[0].state)
		require.Equal(t, NodeName("db-1"), d.shards[0].leader)
	})
}

// A copy that waits until allocation is put back recovers also when its process is paused
// at that moment and goes on later.
func TestACopyThatWaitedRecoversWhenItsPausedProcessGoesOn(t *testing.T) {
	withTwoCopies(t, func(loop *clock.Loop, d *Database) {
		copy := d.shards[0].copies[1]
		loop.In(0, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.allocation, copy.state, copy.active, copy.waits = throttled, engines.MemberDown, false, true
		})
		loop.In(time.Second, func() { d.Freeze("db-1", false) })
		loop.In(2*time.Second, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.allocate("all")
		})
		loop.In(3*time.Second, func() { d.Thaw("db-1") })
		loop.In(time.Minute, loop.Stop)
		loop.Run()
		require.Equal(t, engines.MemberActive, copy.state)
	})
}

// A copy does not become active while the process that has it is paused: it begins again when
// that goes on.
func TestACopyDoesNotRecoverWhileItsProcessIsPaused(t *testing.T) {
	withTwoCopies(t, func(loop *clock.Loop, d *Database) {
		copy := d.shards[0].copies[1]
		paused := copy.state
		loop.In(0, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.times.Notice = [2]time.Duration{time.Hour, time.Hour} // its session lasts
			d.recover(d.nodes[NodeName("db-1")], d.shards[0], copy)
		})
		loop.In(time.Millisecond, func() { d.Freeze("db-1", true) })
		loop.In(time.Minute, func() {
			paused = copy.state
			d.Thaw("db-1")
		})
		loop.In(2*time.Minute, loop.Stop)
		loop.Run()
		require.Equal(t, engines.MemberRecovering, paused)
		require.Equal(t, engines.MemberActive, copy.state)
	})
}
