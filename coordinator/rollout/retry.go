package rollout

import "time"

// retry says when something that failed is tried again.
type retry struct {
	// busy is true if an effect is under way.
	busy bool
	// retryAt is when the next attempt is allowed. errors is how many have failed in a row.
	retryAt time.Time
	errors  int
	// problem is the last failure, or what is awaited, for people.
	problem string
}

// failed notes a failure and when to try again.
func (r *retry) failed(now time.Time, err error) {
	r.problem = err.Error()
	r.retryAt = now.Add(min(firstRetry<<min(r.errors, 10), lastRetry))
	r.errors++
}

// succeeded forgets failures.
func (r *retry) succeeded() { r.problem, r.errors, r.retryAt = "", 0, time.Time{} }

// later notes what is awaited, and when to ask again.
func (r *retry) later(at time.Time, what string) {
	r.succeeded()
	r.problem, r.retryAt = what, at
}
