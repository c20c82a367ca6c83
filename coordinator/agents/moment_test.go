package agents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// However long a message was under way and whatever the clocks do, a report is
// never dated later than it was observed, by more than the quickest journey seen.
func TestMoment(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	type message struct {
		began   time.Duration // of the observation, true time
		age     time.Duration // when it was sent
		journey time.Duration
		skew    time.Duration // of the agent's clock
		want    time.Duration
	}
	for name, messages := range map[string][]message{
		"at once": {{0, time.Second, 0, 0, 0}},
		"the first journey cannot be told from the age": {{0, 0, time.Second, 0, time.Second}},
		"a message that lay in a buffer is not made younger": {
			{0, 0, 10 * time.Millisecond, 0, 10 * time.Millisecond},
			{5 * time.Second, 0, 4 * time.Second, 0, 5*time.Second + 10*time.Millisecond},
		},
		"a clock that is an hour wrong": {
			{0, 0, 0, time.Hour, 0},
			{5 * time.Second, time.Second, 4 * time.Second, time.Hour, 5 * time.Second},
		},
		"a clock that jumps ahead": {
			{0, 0, 0, 0, 0},
			{5 * time.Second, 0, 0, time.Hour, 5 * time.Second},
		},
		"a clock that jumps back makes older": {
			{0, 0, 0, 0, 0},
			{5 * time.Second, 0, 0, -3 * time.Second, 2 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m moment
			for _, x := range messages {
				r := &rollcallv1.Report{
					Age: durationpb.New(x.age), ObservedAt: timestamppb.New(noon.Add(x.began + x.skew)),
				}
				got := m.began(r, noon.Add(x.began+x.age+x.journey))
				require.Equal(t, noon.Add(x.want), got.UTC())
			}
		})
	}
}

// A clock that was put back does not make an agent's reports old for ever.
func TestMomentForgetsAJump(t *testing.T) {
	var m moment
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	late := time.Duration(0)
	for second := range 180 {
		arrived := now.Add(time.Duration(second) * time.Second)
		clock := arrived
		if second >= 10 {
			clock = clock.Add(-time.Hour)
		}
		at := m.began(&rollcallv1.Report{Age: durationpb.New(0), ObservedAt: timestamppb.New(clock)}, arrived)
		late = arrived.Sub(at)
		if second == 10 {
			require.Equal(t, time.Hour, late)
		}
	}
	require.Zero(t, late)
}

func TestMomentWithoutAgeIsUnknown(t *testing.T) {
	var m moment
	now := time.Now()
	require.Zero(t, m.began(&rollcallv1.Report{}, now))
	require.Equal(t, now, m.began(&rollcallv1.Report{Age: durationpb.New(-time.Hour)}, now), "nothing is younger than now")
}
