package opensearch

import "time"

const (
	// electionTime is longer than an election, and longer than a node needs to find its cluster
	// again after a short interruption. Until then nobody can say whether it is a member. A node
	// that follows no manager for longer is not a member, for example if it looks for its cluster
	// in the wrong place.
	electionTime = time.Minute
	// unseen is a time without a look in which it may have followed a manager.
	unseen = 15 * time.Second
)

// withoutManager is since when every look has found the node without a manager.
type withoutManager struct{ since, last time.Time }

// look reports whether that has been so for longer than an election takes.
func (l *withoutManager) look(now time.Time, alone bool) bool {
	if !alone {
		*l = withoutManager{}
		return false
	}
	if l.since.IsZero() || now.Sub(l.last) > unseen {
		l.since = now
	}
	l.last = now
	return now.Sub(l.since) >= electionTime
}
