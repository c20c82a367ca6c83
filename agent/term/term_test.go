package term

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestTermEndsWhenItsSenderSays checks that a term that has ended for its sender has ended for the
// agent, whatever the wall clocks of both machines say and however long messages take, and that an
// order that is sent in time is valid for its term less the shortest delay.
func TestTermEndsWhenItsSenderSays(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 7))
		between := func(least, most time.Duration) time.Duration {
			return least + time.Duration(random.Int64N(int64(most-least)))
		}
		skew := between(-time.Hour, time.Hour) // of the agent's wall clock
		began := noon.Add(-between(0, 20*time.Hour))
		run := Run{Incarnation: 5, Started: began.Add(skew)}
		var c Clock
		quickest, at := time.Hour, noon
		for range 1 + random.IntN(20) {
			at = at.Add(between(time.Millisecond, 4*time.Second))
			journey := between(time.Millisecond, 30*time.Second)
			quickest = min(quickest, journey)
			c.Hear(5, run.Uptime(at.Add(skew)), at.Add(journey))
		}
		now := at.Add(31 * time.Second)
		require.True(t, c.Knows(now))
		end := now.Add(30 * time.Second)
		byAgent, err := run.End(c.Term(end))
		require.NoError(t, err)
		truly := byAgent.Add(-skew)
		require.False(t, truly.After(end), "seed %d: written %s after its sender has relied on its end", seed, truly.Sub(end))
		require.LessOrEqual(t, end.Sub(truly), quickest, "seed %d", seed)
	}
}

func TestEnd(t *testing.T) {
	run := Run{Incarnation: 5, Started: noon}
	for name, c := range map[string]struct {
		term *rollcallv1.Term
		want error
	}{
		"good":               {&rollcallv1.Term{Incarnation: 5, Until: durationpb.New(time.Second)}, nil},
		"of an older sender": {nil, ErrNone},
		"for an earlier run": {&rollcallv1.Term{Incarnation: 4, Until: durationpb.New(time.Hour)}, ErrOtherRun},
		"for a later run":    {&rollcallv1.Term{Incarnation: 6, Until: durationpb.New(time.Hour)}, ErrOtherRun},
		"without an end":     {&rollcallv1.Term{Incarnation: 5}, ErrEndless},
		"no duration":        {&rollcallv1.Term{Incarnation: 5, Until: &durationpb.Duration{Seconds: 1, Nanos: -1}}, ErrEndless},
	} {
		t.Run(name, func(t *testing.T) {
			end, err := run.End(c.term)
			require.ErrorIs(t, err, c.want)
			if err == nil {
				require.Equal(t, noon.Add(time.Second), end)
			}
		})
	}
}

// TestClockOfARun checks that what is known of a run says nothing about the next one, and expires.
func TestClockOfARun(t *testing.T) {
	var c Clock
	require.False(t, c.Knows(noon))
	c.Hear(5, durationpb.New(time.Hour), noon)
	c.Hear(6, durationpb.New(time.Second), noon.Add(time.Minute))
	started, known := c.Started()
	require.True(t, known)
	require.Equal(t, noon.Add(59*time.Second), started)
	require.EqualValues(t, 6, c.Term(noon).GetIncarnation())
	require.Nil(t, c.Term(time.Time{}).GetUntil())
	require.True(t, c.Knows(noon.Add(10*time.Minute)))
	require.False(t, c.Knows(noon.Add(11*time.Minute)))
	c.Hear(6, nil, noon.Add(2*time.Minute))
	require.False(t, c.Knows(noon.Add(2*time.Minute)), "it tells its uptime no more")
}

// A jump is forgotten after a minute or two.
func TestLeastForgets(t *testing.T) {
	var l Least
	require.Zero(t, l.Value())
	l.Add(noon, -time.Hour)
	for second := range 150 {
		l.Add(noon.Add(time.Duration(second)*time.Second), time.Minute)
		if second < 60 {
			require.Equal(t, -time.Hour, l.Value())
		}
	}
	require.Equal(t, time.Minute, l.Value())
}
