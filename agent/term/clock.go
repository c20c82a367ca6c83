package term

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// stale is the age at which what was heard is too old for timing an order: by then, two clocks that
// differ by 0.02 % are a tenth of a second apart.
const stale = 10 * time.Minute

// Clock is the uptime of an agent's run as another process knows it, by that
// process's own clock. The zero value knows nothing.
//
// Invariant: the run began at Started or before. So at the end of a term the agent's
// uptime is the term's or more, and nothing is written any more.
type Clock struct {
	incarnation uint64
	heard       time.Time // last
	// start is the least of (arrival - uptime): the true start plus the shortest delay.
	start Least
	base  time.Time // that start counts from
}

// Hear records an answer that arrived at a time of the local clock. An answer without an uptime
// comes from an agent that does not support terms.
func (c *Clock) Hear(incarnation uint64, uptime *durationpb.Duration, arrived time.Time) {
	if !uptime.IsValid() {
		*c = Clock{}
		return
	}
	if c.incarnation != incarnation || c.base.IsZero() {
		*c = Clock{incarnation: incarnation, base: arrived}
	}
	c.heard = arrived
	c.start.Add(arrived, arrived.Sub(c.base)-uptime.AsDuration())
}

// Started returns when the run that was heard last began, or a time later by at most the shortest
// delay; false if that is not known.
func (c *Clock) Started() (time.Time, bool) {
	return c.base.Add(c.start.Value()), !c.base.IsZero()
}

// Knows reports whether a term can be computed now.
func (c *Clock) Knows(now time.Time) bool {
	return !c.base.IsZero() && now.Sub(c.heard) < stale
}

// Term returns the end of an order by the agent's clock; zero means no end. Call it only if the
// clock Knows.
func (c *Clock) Term(end time.Time) *rollcallv1.Term {
	t := &rollcallv1.Term{Incarnation: c.incarnation}
	if started, _ := c.Started(); !end.IsZero() {
		t.Until = durationpb.New(end.Sub(started))
	}
	return t
}
