package drain

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// job is one order in hand. A job without a claim is the stop hook's own.
type Job struct {
	Claim    string
	kind     engines.Kind
	epoch    int64
	eligible []string // pods
	Undo     []byte
	setting  engines.Shared
	notAfter time.Time

	State       rollcallv1.Drain
	Detail      string
	Done, Total int
	since       time.Time // of state
	// checks: it was prepared, and is asked whether it still is.
	rechecks bool
	// answered: the database has said something since it was asked.
	answered bool

	// Of claims of a Peered engine; see recall.go. reached: it was prepared once;
	// resting: it is restored by the agent itself, restored: because a coordinator
	// began to; rested: it was.
	drained, undoing, restoring, undone bool

	ctx    context.Context
	cancel context.CancelFunc
}

// level of what is logged of it: a check is made with every look of the coordinator.
func (j *Job) level() slog.Level {
	if j.rechecks {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// told is what the reports say of it: what was prepared is, until the database answers
// otherwise. Each look of the coordinator asks, and its reports would contradict it.
func (j *Job) reported() rollcallv1.Drain {
	if j.rechecks && !j.answered && j.Running() {
		return rollcallv1.Drain_DRAIN_PREPARED
	}
	return j.State
}

func (j *Job) Running() bool { return j.State == rollcallv1.Drain_DRAIN_PREPARING }

// over tells whether the time of its order has passed, and with it all that is known of
// its claim: others may have undone it since.
func (j *Job) Expired(now time.Time) bool { return !j.notAfter.IsZero() && now.After(j.notAfter) }

// order is what the adapter is told.
type Order struct {
	Claim    string
	Kind     engines.Kind
	Epoch    int64
	Eligible []string
	Undo     []byte
	Setting  engines.Shared
	NotAfter time.Time
	// anew: what was prepared is looked at anew.
	Recheck bool
}

// conflict answers why an order may not be taken now, or "". Callers hold the lock.
func (d *Drainer) conflict(o Order, now time.Time) string {
	j := d.job
	switch {
	case d.restored.covers(o.Claim, o.Epoch):
		return fmt.Sprintf("claim %s is restored; this order came too late", o.Claim)
	case j == nil, j.Claim == "", j.Claim == o.Claim, o.Epoch > j.epoch:
		return ""
	case j.undoing:
		return fmt.Sprintf("claim %s is being undone on this pod", j.Claim)
	case j.Expired(now):
		return ""
	}
	return fmt.Sprintf("claim %s is open on this pod (%s); it must be restored first", j.Claim, j.State)
}

func (d *Drainer) engineOrder(o Order) engines.Order {
	return engines.Order{
		Kind: o.Kind, Claim: cmp.Or(o.Claim, d.OwnClaim), Eligible: d.Translate(o.Eligible), Shared: o.Setting, Epoch: o.Epoch, NotAfter: o.NotAfter,
	}
}
