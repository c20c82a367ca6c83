package mysql

import "time"

// trail is where the local server was a while ago, so that replicas are measured by
// what they have and not by what they say: one that cannot write to its disk any more
// receives nothing, has applied all of that, and says that it does not lag.
type trail struct {
	started   time.Time // of the server; another one may have lost something
	old, next mark
}

type mark struct {
	at       time.Time
	executed string
}

// add notes a look. The old mark is at least that long ago, by the newest of two
// that are as far apart.
func (t *trail) add(s State, now time.Time, apart time.Duration) {
	switch {
	case !s.Serving:
		return // it is where it was, or will say that it was started again
	case s.Source != nil || !s.Started.Equal(t.started):
		*t = trail{started: s.Started}
	}
	if s.Source == nil && now.Sub(t.next.at) >= apart {
		t.old, t.next = t.next, mark{now, s.Executed}
	}
}
