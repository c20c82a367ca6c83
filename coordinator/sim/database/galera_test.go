package database

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/engines"
)

// withMembers is a Galera database of db-0 to db-2, which keeps write sets for ten seconds.
func withMembers(t *testing.T, arbitrator bool, story func(loop *clock.Loop, d *Database)) {
	synctest.Test(t, func(t *testing.T) {
		loop := clock.New(1)
		d := New(loop, DefaultTimes())
		d.Galera(arbitrator, 10*time.Second, "db-0", "db-1", "db-2")
		for _, pod := range []string{"db-0", "db-1", "db-2"} {
			d.AddLive(pod, "9.9.0")
		}
		story(loop, d)
		loop.In(30*time.Minute, loop.Stop)
		loop.Run()
	})
}

func at(loop *clock.Loop, s float64, do func()) {
	loop.In(time.Duration(s*float64(time.Second)), do)
}

// in tells which members the component has; it is empty if none is primary.
func in(d *Database) (out []string) {
	c := d.Component()
	for _, m := range c.Members {
		if m.Listed && c.Primary {
			out = append(out, m.Pod)
		}
	}
	return out
}

// Who ends in peace takes its vote along: two go one after the other, and the third is the component.
// Who is killed is in the component for five seconds, and the other needs more than half with it.
func TestComponentShrinks(t *testing.T) {
	for name, c := range map[string]struct {
		arbitrator      bool
		first, second   bool // whether they end in peace
		later           float64
		soon, afterward []string
	}{
		"in peace":                         {first: true, second: true, later: 1, soon: []string{"db-2"}, afterward: []string{"db-2"}},
		"killed together":                  {later: 0.1, soon: []string{"db-0", "db-1", "db-2"}},
		"killed one by one":                {later: 7, soon: []string{"db-1", "db-2"}, afterward: nil},
		"one leaves beside a killed one":   {second: true, later: 1, soon: []string{"db-0", "db-2"}},
		"one leaves once the other is out": {second: true, later: 7, soon: []string{"db-2"}, afterward: []string{"db-2"}},
		"with an arbitrator":               {arbitrator: true, later: 7, soon: []string{"db-1", "db-2"}, afterward: []string{"db-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			withMembers(t, c.arbitrator, func(loop *clock.Loop, d *Database) {
				at(loop, 1, func() { d.Stop("db-0", c.first) })
				at(loop, 1+c.later, func() { d.Stop("db-1", c.second) })
				at(loop, 1.01+c.later, func() { require.Equal(t, c.soon, in(d)) })
				at(loop, 20, func() { require.Equal(t, c.afterward, in(d)) })
			})
		})
	}
}

// A member that is cut off for a moment stays, one that is cut off for longer is put out, and comes back
// by itself. So do all members that had no primary component any more.
func TestMembersThatAreCutOff(t *testing.T) {
	withMembers(t, false, func(loop *clock.Loop, d *Database) {
		all := []string{"db-0", "db-1", "db-2"}
		at(loop, 1, func() { d.LoseSession("db-0") })
		at(loop, 4, func() { d.Rejoin("db-0") })
		at(loop, 9, func() { require.Equal(t, all, in(d)); d.LoseSession("db-0") })
		at(loop, 16, func() { require.Equal(t, []string{"db-1", "db-2"}, in(d)); d.Rejoin("db-0") })
		at(loop, 30, func() {
			require.True(t, d.Component().Whole())
			d.LoseSession("db-0")
			d.Freeze("db-1", true)
		})
		at(loop, 40, func() { require.Empty(t, in(d)); require.False(t, d.Whole("db-2")); d.Thaw("db-1") })
		at(loop, 45, func() { require.Equal(t, []string{"db-1", "db-2"}, in(d)); d.Rejoin("db-0") })
		at(loop, 200, func() { require.True(t, d.Component().Whole()) })
	})
}

// Who was away for longer than write sets are kept, or has lost its data, needs all of the data, for
// minutes, in which its donor is one; others need seconds.
func TestStateTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		away float64
		lost bool
		full bool
	}{
		"a short time": {away: 3}, "a long time": {away: 15, full: true}, "without its data": {away: 3, lost: true, full: true},
	} {
		t.Run(name, func(t *testing.T) {
			withMembers(t, false, func(loop *clock.Loop, d *Database) {
				joined := false
				at(loop, 1, func() { d.Stop("db-2", true) })
				at(loop, 1+c.away, func() {
					if c.lost {
						d.Lose("db-2")
					}
					d.Start("db-2", "9.9.0", func() { joined = true })
				})
				at(loop, 3.1+c.away, func() {
					members := d.Component().Members
					require.True(t, members[0].Donor && members[2].Joins)
				})
				at(loop, 8+c.away, func() { require.NotEqual(t, c.full, joined) })
				at(loop, 130+c.away, func() { require.True(t, joined && d.Component().Whole()) })
			})
		})
	}
}

// A donor that ends is followed by another.
func TestDonorIsFollowedByAnother(t *testing.T) {
	withMembers(t, false, func(loop *clock.Loop, d *Database) {
		at(loop, 1, func() { d.Lose("db-2"); d.Stop("db-2", true) })
		at(loop, 2, func() { d.Start("db-2", "9.9.0", func() {}) })
		at(loop, 20, func() { d.Stop("db-0", true) })
		at(loop, 21, func() { require.True(t, d.Component().Members[1].Donor) })
		at(loop, 150, func() { require.Equal(t, []string{"db-1", "db-2"}, in(d)); require.True(t, d.Whole("db-2")) })
	})
}

// If nobody has the data any more, the one that had it last begins again, or a person has another do so.
func TestTotalOutages(t *testing.T) {
	withMembers(t, true, func(loop *clock.Loop, d *Database) {
		for i, pod := range []string{"db-0", "db-1", "db-2"} {
			at(loop, float64(1+i), func() { d.Stop(pod, true) })
		}
		at(loop, 5, func() { require.Empty(t, in(d)); d.Start("db-0", "9.9.0", func() {}) })
		at(loop, 20, func() { require.Empty(t, in(d)); d.Start("db-2", "9.9.0", func() {}) })
		at(loop, 30, func() { require.Contains(t, in(d), "db-2"); d.Stop("db-2", true); d.Stop("db-0", true) })
		at(loop, 31, func() { require.Empty(t, d.Bootstrap()); d.Start("db-1", "9.9.0", func() {}) })
		at(loop, 40, func() { require.Equal(t, "db-1", d.Bootstrap()); require.Equal(t, []string{"db-1"}, in(d)) })
	})
}

// What the agents report: who has ended counts for nothing though the component has it, views that
// differ permit nothing, and a drain waits for a majority of all and for a donor.
func TestWhatMembersReport(t *testing.T) {
	withMembers(t, false, func(loop *clock.Loop, d *Database) {
		tells := true
		d.Tell(func(string, string) bool { return tells })
		report := func(pod string) (votes []engines.MemberState, o engines.Observation) {
			o = d.observation(NodeName(pod))
			for _, m := range o.Groups[0].Members {
				votes = append(votes, m.State)
			}
			return votes, o
		}
		leaves := func(pod string) bool { return d.mayLeave(NodeName(pod)).State == engines.ProgressDone }
		const active, down, unknown = engines.MemberActive, engines.MemberDown, engines.MemberUnknown
		at(loop, 2, func() {
			votes, o := report("db-0")
			require.Equal(t, []engines.MemberState{active, active, active}, votes)
			require.Equal(t, engines.Galera, o.Topology)
			require.True(t, o.Settled && leaves("db-0"))
			d.Stop("db-2", false)
		})
		at(loop, 4, func() {
			votes, _ := report("db-0")
			require.Equal(t, []engines.MemberState{active, active, down}, votes)
			require.False(t, leaves("db-0"), "one of three would be left")
		})
		at(loop, 20, func() { d.Lose("db-2"); d.Start("db-2", "9.9.0", func() {}) })
		at(loop, 30, func() {
			_, o := report("db-0")
			require.Equal(t, "sends all of its data to db-2 (Donor/Desynced)", o.Busy)
			require.False(t, o.Settled || leaves("db-0"))
			require.Equal(t, engines.MembershipNotLive, d.observation(NodeName("db-2")).Member, "it does not listen")
		})
		at(loop, 300, func() { require.True(t, leaves("db-0")); d.LoseSession("db-0") })
		at(loop, 310, func() {
			votes, o := report("db-0")
			require.Equal(t, engines.MembershipUnknown, o.Member)
			require.Contains(t, votes, unknown)
			require.NotContains(t, votes, active)
			d.Rejoin("db-0")
		})
		at(loop, 330, func() { tells = false })
		at(loop, 335, func() {
			votes, _ := report("db-0")
			require.Equal(t, []engines.MemberState{active, unknown, unknown}, votes)
		})
	})
}
