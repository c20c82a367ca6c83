package agents

import (
	"time"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// skewTold is the difference of clocks from which on people are informed. At least one message of a
// minute is under way for less.
const skewTold = 5 * time.Second

// compare notes by how much the wall clock of an agent's node is behind ours. Nothing is decided by
// that: see agent/term. It is wrong by no more than the fastest delivery of the last minute. It
// reports whether people are to be informed of a change. mu is held.
func (g *agent) compare(r *rollcallv1.Report, arrived time.Time) (news bool) {
	if !r.GetObservedAt().IsValid() || !r.GetAge().IsValid() {
		return false
	}
	before := g.told()
	sent := r.GetObservedAt().AsTime().Add(r.GetAge().AsDuration())
	g.behind.Add(arrived, arrived.Round(0).Sub(sent))
	return (before == 0) != (g.told() == 0)
}

// told returns by how much the clock is ahead of ours, in whole seconds. It returns zero if that is
// not worth reporting.
func (g *agent) told() time.Duration {
	if skew := -g.behind.Value(); skew.Abs() >= skewTold {
		return skew.Round(time.Second)
	}
	return 0
}
