package probe

import (
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/engines"
)

// sighting is one look at the database and what follows from those before it.
// It is never changed.
type Result struct {
	// sequence grows by one with every look of this process; 0 = never looked.
	Sequence uint64
	// started is when the look began, so nothing in it is older.
	Started     time.Time
	Observation engines.Observation
	Err         error
	// node is the last name under which the database knew the member.
	Node string
	// notLiveSince and settledSince are zero when that is not so.
	NotLiveSince, settledSince time.Time
}

// follow answers the sighting after s. An unknown interrupts both durations: it
// is neither proof that the member was still away nor that it was still settled.
func (s Result) Follow(started time.Time, o engines.Observation, err error) Result {
	next := Result{Sequence: s.Sequence + 1, Started: started, Err: err, Node: s.Node}
	if err != nil {
		return next
	}
	next.Observation = o
	if o.Node != "" {
		next.Node = o.Node
	}
	if o.Member == engines.NotLive {
		next.NotLiveSince = earliest(s.NotLiveSince, started)
	}
	if o.Member == engines.Live && o.Settled {
		next.settledSince = earliest(s.settledSince, started)
	}
	return next
}

// interrupted is the sighting when nobody has looked for long after it: how long
// something was so can only be counted anew.
func (s Result) interrupted() Result {
	s.NotLiveSince, s.settledSince = time.Time{}, time.Time{}
	return s
}

// notLive is for how long looks have said so without a break. What has passed since
// the last look is no part of it.
func (s Result) notLive() *durationpb.Duration { return since(s.NotLiveSince, s.Started) }

func (s Result) Live() bool { return s.Err == nil && s.Observation.Member == engines.Live }

func earliest(before, now time.Time) time.Time {
	if before.IsZero() {
		return now
	}
	return before
}

// sameFacts tells whether two observations say the same to others; how many bytes
// the member holds changes all the time and is not news.
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
