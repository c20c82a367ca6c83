package topology

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// History is where the local server was a while ago, so that replicas are measured by
// what they have and not by what they say: one that cannot write to its disk any more
// receives nothing, has applied all of that, and says that it does not lag.
type History struct {
	started   time.Time // of the server; another one may have lost something
	Old, next Checkpoint
}

// Checkpoint is what the server had executed at that time.
type Checkpoint struct {
	At       time.Time
	Executed string
}

// Add notes a look. The old mark is at least that long ago, by the newest of two
// that are as far apart.
func (t *History) Add(s replication.State, now time.Time, apart time.Duration) {
	switch {
	case !s.Serving:
		return // it is where it was, or will say that it was started again
	case s.Source != nil || !s.Started.Equal(t.started):
		*t = History{started: s.Started}
	}
	if s.Source == nil && now.Sub(t.next.At) >= apart {
		t.Old, t.next = t.next, Checkpoint{now, s.Executed}
	}
}
