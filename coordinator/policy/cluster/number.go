package cluster

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Span returns a number of seconds as a duration, never negative and never infinite.
func Span[T int64 | float64](seconds T) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(float64(min(seconds, model.MaxSeconds)) * float64(time.Second))
}

// Count returns 1 for true.
func Count(b bool) int {
	if b {
		return 1
	}
	return 0
}
