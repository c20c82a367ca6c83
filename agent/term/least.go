package term

import "time"

// period is how long values are remembered, at least.
const period = time.Minute

// Least is the smallest value that was added in the last minute or two.
type Least struct {
	known bool
	// newest and older are the smallest of the present period and of the one before.
	newest, older time.Duration
	begun         time.Time // of the present period
}

// Add adds a value.
func (l *Least) Add(now time.Time, value time.Duration) {
	switch {
	case !l.known:
		l.known, l.begun, l.newest, l.older = true, now, value, value
	case now.Sub(l.begun) >= period:
		l.begun, l.newest, l.older = now, value, l.newest
	}
	l.newest = min(l.newest, value)
}

// Value returns the smallest value; zero if nothing was added.
func (l *Least) Value() time.Duration { return min(l.newest, l.older) }
