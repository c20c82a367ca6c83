package term

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// stale is when what was heard is too old to time an order by: two clocks that
// differ by 0.02 % are a tenth of a second apart then.
const stale = 10 * time.Minute

// Clock is the uptime of an agent's run as another process knows it, by that
// process's own clock. The zero value knows nothing.
//
// Invariant: the run began at Started or before. So at the end of a term the agent's
// uptime is the term's or more, and nothing is written any more.
type Clock struct {
	incarnation uint64
	heard       time.Time // last
	// start is the least of (arrival - uptime): the true one and the quickest journey.
	start Least
	base  time.Time // that start counts from
}

// Hear takes note of an answer that came at a time by our clock. One without an
// uptime is of an agent that takes no terms.
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

// Started is when the run that was heard last began, or later by no more than
// the quickest journey; false when that is not known.
func (c *Clock) Started() (time.Time, bool) {
	return c.base.Add(c.start.Value()), !c.base.IsZero()
}

// Knows reports whether a term can be named now.
func (c *Clock) Knows(now time.Time) bool {
	return !c.base.IsZero() && now.Sub(c.heard) < stale
}

// Term names the end of an order by the agent's clock; zero is no end. Call it
// only when the clock Knows.
func (c *Clock) Term(end time.Time) *rollcallv1.Term {
	t := &rollcallv1.Term{Incarnation: c.incarnation}
	if started, _ := c.Started(); !end.IsZero() {
		t.Until = durationpb.New(end.Sub(started))
	}
	return t
}
