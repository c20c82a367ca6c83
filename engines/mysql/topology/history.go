package topology

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// History is where the local server was a while ago. Replicas are judged by what they have, not by
// what they report: a replica with a full disk receives nothing, has applied all that it could
// receive, and reports no lag.
type History struct {
	started   time.Time // of the server; another one may have lost something
	Old, next Checkpoint
}

// Checkpoint is what the server had executed at a time.
type Checkpoint struct {
	At       time.Time
	Executed string
}

// Add records a look. Old is at least that long ago: it is the older of two checkpoints that are
// that far apart.
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
