package switchover

import "time"

// Limits are the limits of a switchover. The zero value of each is its default.
type Limits struct {
	// Patience is how long writes may be stopped in one try. 0 means 30 s.
	Patience time.Duration
	// StopWithin bounds the wait for running writes to end, during which new ones wait too. 0 means
	// 5 s.
	StopWithin time.Duration
	// LongWrite is the age of an open transaction with changes from which on it is waited for
	// before writes are stopped. 0 means 1 s.
	LongWrite time.Duration
	// RetryAfter is the pause after a failed switchover. It doubles with each further failure up to
	// RetryMost, because each may have stopped writes for a while. 0 means 10 s and 5 min.
	RetryAfter, RetryMost time.Duration
	// Follow is how long a primary that keeps its role waits for its replicas if its pod is stopped
	// without a claim. 0 means 5 s.
	Follow time.Duration
	// Quiet is how long all other agents must be known before a server allows writes without an
	// order. 0 means 10 s.
	Quiet time.Duration
	// BrokenAfter is how long a replica must not have replicated until it counts as broken. 0 means
	// 2 min.
	BrokenAfter time.Duration
}

func (l Limits) WithDefaults() Limits {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&l.Patience, 30 * time.Second}, {&l.StopWithin, 5 * time.Second}, {&l.LongWrite, time.Second},
		{&l.RetryAfter, 10 * time.Second}, {&l.RetryMost, 5 * time.Minute}, {&l.Follow, 5 * time.Second}, {&l.Quiet, 10 * time.Second}, {&l.BrokenAfter, 2 * time.Minute},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return l
}
