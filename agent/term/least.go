package term

import "time"

// period is how long values are remembered, at least.
const period = time.Minute

// Least is the smallest of what was added in the last minute, or two.
type Least struct {
	known bool
	// newest and older are the smallest of the present period and of the one before.
	newest, older time.Duration
	begun         time.Time // of the present period
}

// Add takes one more value.
func (l *Least) Add(now time.Time, value time.Duration) {
	switch {
	case !l.known:
		l.known, l.begun, l.newest, l.older = true, now, value, value
	case now.Sub(l.begun) >= period:
		l.begun, l.newest, l.older = now, value, l.newest
	}
	l.newest = min(l.newest, value)
}

// Value is the smallest; zero when nothing was added.
func (l *Least) Value() time.Duration { return min(l.newest, l.older) }
