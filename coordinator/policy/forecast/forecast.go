package forecast

import (
	"math"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// rounding tolerates the errors of adding floating-point numbers.
const rounding = 1e-6

// Forecast simulates the candidates in a sequence: each goes as soon as the limits allow, and
// takes as long as estimated. seconds is the time that Fastest returned for the sequence, or 0.
func (r *Rollout) Forecast(sequence []int32, seconds float64) model.Forecast {
	if len(r.jobs) == 0 {
		return model.Forecast{}
	}
	s := newSimulation(r)
	estimates := r.estimates()
	if seconds == 0 {
		seconds = s.run(sequence, estimates)
	}
	waves := seconds / estimates[0]
	if slices.Max(estimates) != slices.Min(estimates) {
		waves = s.run(sequence, r.ones())
	}
	return model.Forecast{
		Waves:        int(math.Round(waves)),
		Seconds:      int64(math.Ceil(seconds - rounding)),
		BoundSeconds: int64(math.Floor(r.Bound() + rounding)),
	}
}

// estimates are the seconds of each job.
func (r *Rollout) estimates() []float64 {
	seconds := make([]float64, len(r.jobs))
	for j := range r.jobs {
		seconds[j] = r.jobs[j].seconds
	}
	return seconds
}

// ones gives every job the same duration, so that the time is the number of waves.
func (r *Rollout) ones() []float64 {
	ones := make([]float64, len(r.jobs))
	for j := range ones {
		ones[j] = 1
	}
	return ones
}
