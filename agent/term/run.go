package term

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Reasons why a term is not valid. All are refused before anything is written.
var (
	ErrNone     = errors.New("the order does not say until when it is good (term): who sends it is of an older version than this agent, and has to be updated")
	ErrOtherRun = errors.New("the order is for another run of this agent, which has restarted; its sender learns of that from the next report")
	ErrEndless  = errors.New("term.until is missing or not a duration")
)

// Run is one run of an agent, as that agent knows it.
type Run struct {
	Incarnation uint64
	// Started is when it began; with a monotonic reading.
	Started time.Time
}

// Uptime returns how long it has been running.
func (r Run) Uptime(now time.Time) *durationpb.Duration { return durationpb.New(now.Sub(r.Started)) }

// End returns the time after which nothing is written for an order.
func (r Run) End(t *rollcallv1.Term) (time.Time, error) {
	switch {
	case t == nil:
		return time.Time{}, ErrNone
	case t.GetIncarnation() != r.Incarnation:
		return time.Time{}, fmt.Errorf("%w: it names run %d, this is run %d", ErrOtherRun, t.GetIncarnation(), r.Incarnation)
	case !t.GetUntil().IsValid():
		return time.Time{}, ErrEndless
	}
	return r.Started.Add(t.GetUntil().AsDuration()), nil
}
