package agents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// However long a message was under way and whatever the wall clocks do, a report is
// never dated later than it was observed, by more than the quickest journey seen, and
// never earlier.
func TestMoment(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	type message struct {
		began   time.Duration // of the observation, true time
		age     time.Duration // when it was sent
		journey time.Duration
		wall    time.Duration // by which the agent's wall clock is ahead then
		run     uint64
		want    time.Duration
	}
	for name, messages := range map[string][]message{
		"at once": {{0, time.Second, 0, 0, 1, 0}},
		"the first journey cannot be told from the age": {{0, 0, time.Second, 0, 1, time.Second}},
		"a message that lay in a buffer is not made younger": {
			{0, 0, 10 * time.Millisecond, 0, 1, 10 * time.Millisecond},
			{5 * time.Second, 0, 4 * time.Second, 0, 1, 5*time.Second + 10*time.Millisecond},
		},
		"a clock that is an hour wrong": {
			{0, 0, 0, time.Hour, 1, 0},
			{5 * time.Second, time.Second, 4 * time.Second, time.Hour, 1, 5 * time.Second},
		},
		"a clock that jumps ahead": {
			{0, 0, 0, 0, 1, 0},
			{5 * time.Second, 0, 0, time.Hour, 1, 5 * time.Second},
		},
		"a clock that jumps back": {
			{0, 0, 0, 0, 1, 0},
			{5 * time.Second, 0, 0, -time.Hour, 1, 5 * time.Second},
		},
		"another run counts from its own start": {
			{0, 0, 0, 0, 7, 0},
			{5 * time.Second, 0, time.Second, -time.Hour, 3, 6 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c term.Clock
			for _, x := range messages {
				sent := x.began + x.age
				r := &rollcallv1.Report{
					Identity: &rollcallv1.Identity{Incarnation: x.run}, Age: durationpb.New(x.age),
					Uptime: durationpb.New(time.Minute + sent), ObservedAt: timestamppb.New(noon.Add(x.began + x.wall)),
				}
				require.Equal(t, noon.Add(x.want), began(&c, r, noon.Add(sent+x.journey)).UTC())
			}
		})
	}
}

func TestMomentWithoutAgeIsUnknown(t *testing.T) {
	var c term.Clock
	now := time.Now()
	require.Zero(t, began(&c, &rollcallv1.Report{Uptime: durationpb.New(time.Hour)}, now))
	require.Equal(t, now, began(&c, &rollcallv1.Report{Age: durationpb.New(-time.Hour)}, now), "nothing is younger than now")
}
