package probe

import (
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/engines"
)

// Result is one probe of the database, with what follows from those before it. It is
// immutable.
type Result struct {
	// Sequence grows by one with every probe of this process; 0 means never probed.
	Sequence uint64
	// Started is when the probe began. Nothing in the result is older.
	Started     time.Time
	Observation engines.Observation
	Err         error
	// Node is the last known name of the member in the database.
	Node string
	// NotLiveSince and settledSince are zero if the member is live, or not settled.
	NotLiveSince, settledSince time.Time
}

// Follow returns the result after r. An unknown interrupts both durations: it proves neither that
// the member was still unavailable nor that it was still settled.
func (r Result) Follow(started time.Time, o engines.Observation, err error) Result {
	next := Result{Sequence: r.Sequence + 1, Started: started, Err: err, Node: r.Node}
	if err != nil {
		return next
	}
	next.Observation = o
	if o.Node != "" {
		next.Node = o.Node
	}
	if o.Member == engines.MembershipNotLive {
		next.NotLiveSince = earliest(r.NotLiveSince, started)
	}
	if o.Member == engines.MembershipLive && o.Settled {
		next.settledSince = earliest(r.settledSince, started)
	}
	return next
}

// interrupted returns the result with both durations starting again, since nobody has probed for a
// while after it.
func (r Result) interrupted() Result {
	r.NotLiveSince, r.settledSince = time.Time{}, time.Time{}
	return r
}

// notLive is how long probes have found the member not live, without a gap. The time
// since the last probe does not count.
func (r Result) notLive() *durationpb.Duration { return since(r.NotLiveSince, r.Started) }

func (r Result) Live() bool { return r.Err == nil && r.Observation.Member == engines.MembershipLive }

func earliest(before, now time.Time) time.Time {
	if before.IsZero() {
		return now
	}
	return before
}

// sameFacts reports whether two observations tell others the same. The member's data
// size changes all the time and is not news.
func sameFacts(a, b engines.Observation) bool {
	if !slices.Equal(a.Nodes, b.Nodes) || !slices.EqualFunc(a.Groups, b.Groups, sameGroup) {
		return false
	}
	a.Nodes, b.Nodes, a.Groups, b.Groups, a.DataBytes, b.DataBytes = nil, nil, nil, nil, 0, 0
	return reflect.DeepEqual(a, b)
}

func sameGroup(a, b engines.Group) bool {
	return a.ID == b.ID && a.Kind == b.Kind && a.MinAvailable == b.MinAvailable && a.NeedsLeader == b.NeedsLeader &&
		a.Moving == b.Moving && slices.Equal(a.Members, b.Members)
}
