package forecast

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// drawRollout has up to six candidates and two unavailable pods, which share a few resources.
func drawRollout(t *rapid.T) *Rollout {
	resources := rapid.SliceOfN(rapid.Int32Range(1, 3), 1, 4).Draw(t, "resources")
	r := New(Limits{Jobs: rapid.IntRange(1, 4).Draw(t, "limit"), Zones: rapid.IntRange(0, 2).Draw(t, "zones"), Resources: resources}, 0, 0)
	draw := func() Job {
		return Job{Seconds: float64(rapid.IntRange(1, 9).Draw(t, "seconds")), Zone: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone")}
	}
	needs := func() {
		for i := range resources {
			if rapid.Bool().Draw(t, "needs") {
				r.Need(int32(i), rapid.Int32Range(1, 2).Draw(t, "share"))
			}
		}
	}
	for range rapid.IntRange(1, 6).Draw(t, "candidates") {
		r.AddCandidate(draw())
		needs()
	}
	for range rapid.IntRange(0, 2).Draw(t, "away") {
		j := draw()
		j.Underway = true
		r.AddAway(j)
		needs()
	}
	r.Seal()
	return r
}

// inOrder returns the sequence of the order.
func inOrder(r *Rollout) []int32 {
	order := make([]int32, r.candidates)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

// TestNoSequenceBeatsTheBound, and Fastest finds none that is slower than the order.
func TestNoSequenceBeatsTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRollout(t)
		s := newSimulation(r)
		order := inOrder(r)
		sequence := rapid.Permutation(order).Draw(t, "sequence")
		require.GreaterOrEqual(t, s.run(sequence, r.estimates()), r.Bound()-rounding)

		fastest, seconds := r.Fastest(order)
		require.ElementsMatch(t, order, fastest)
		require.InDelta(t, s.run(fastest, r.estimates()), seconds, rounding)
	})
}

// What one run leaves behind does not count in the next.
func TestASimulationRunsAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRollout(t)
		s := newSimulation(r)
		order := inOrder(r)
		first := s.run(order, r.estimates())
		s.run(slices.Clone(order), r.ones())
		require.Equal(t, first, s.run(order, r.estimates()))
	})
}

// Jobs of one segment do not begin before those of the one before have ended.
func TestSegments(t *testing.T) {
	r := New(Limits{Jobs: 2}, 0, 0)
	for segment, seconds := range []float64{10, 20, 30} {
		r.AddCandidate(Job{Seconds: seconds, Segment: int32(segment)})
	}
	r.Seal()
	require.Equal(t, model.Forecast{Waves: 3, Seconds: 60, BoundSeconds: 30}, r.Forecast(inOrder(r), 0))
	require.Equal(t, model.Forecast{}, New(Limits{Jobs: 1}, 0, 0).Forecast(nil, 0), "nobody goes")
}
