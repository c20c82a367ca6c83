package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "time"

// span is a number of seconds as a duration, never negative, never endless.
func span[T int64 | float64](seconds T) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(float64(min(seconds, model.MaxSeconds)) * float64(time.Second))
}
