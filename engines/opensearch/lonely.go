package opensearch

import "time"

const (
	// electionTime is more than an election takes, and more than a node needs to find a
	// cluster again that it was cut off from for a moment. Until then nobody can say
	// whether it is a member; one that follows nobody for longer says itself that it is
	// none, as when it is told to look for its cluster in the wrong place.
	electionTime = time.Minute
	// unseen is a time without a look in which it may have followed somebody.
	unseen = 15 * time.Second
)

// loneliness is since when every look has found the node without a manager.
type loneliness struct{ since, last time.Time }

// look reports whether that has been so for longer than an election takes.
func (l *loneliness) look(now time.Time, alone bool) bool {
	if !alone {
		*l = loneliness{}
		return false
	}
	if l.since.IsZero() || now.Sub(l.last) > unseen {
		l.since = now
	}
	l.last = now
	return now.Sub(l.since) >= electionTime
}
