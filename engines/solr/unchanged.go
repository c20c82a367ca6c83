package solr

import (
	"slices"
	"time"
)

const (
	// stillAfter is how long copies must be unchanged to count as given up. A node that starts says
	// of its copies that they are down, until each has begun to recover; while it opens many of
	// them, some change all the time.
	stillAfter = 2 * time.Minute
	// unseen is a time without a look in which anything may have happened.
	unseen = 15 * time.Second
)

// quiet is since when some words have been the same in every look.
type quiet struct {
	words       []string
	since, last time.Time
}

// look takes note of the words of now, and reports whether they have been the same for long.
func (q *quiet) look(now time.Time, words []string) bool {
	if q.since.IsZero() || now.Sub(q.last) > unseen || !slices.Equal(q.words, words) {
		q.words, q.since = words, now
	}
	q.last = now
	return now.Sub(q.since) >= stillAfter
}
