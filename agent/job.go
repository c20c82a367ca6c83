package agent

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
type job struct {
	claim    string
	kind     engines.Kind
	epoch    int64
	eligible []string // pods
	undo     []byte
	shared   engines.Shared
	notAfter time.Time

	state       rollcallv1.Drain
	detail      string
	done, total int
	since       time.Time // of state
	// checks: it was prepared, and is asked whether it still is.
	checks bool
	// answered: the database has said something since it was asked.
	answered bool

	// Of claims of a Peered engine; see recall.go. reached: it was prepared once;
	// resting: it is restored by the agent itself, restored: because a coordinator
	// began to; rested: it was.
	reached, resting, restored, rested bool

	ctx    context.Context
	cancel context.CancelFunc
}

// level of what is logged of it: a check is made with every look of the coordinator.
func (j *job) level() slog.Level {
	if j.checks {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// told is what the reports say of it: what was prepared is, until the database answers
// otherwise. Each look of the coordinator asks, and its reports would contradict it.
func (j *job) told() rollcallv1.Drain {
	if j.checks && !j.answered && j.running() {
		return rollcallv1.Drain_DRAIN_PREPARED
	}
	return j.state
}

func (j *job) running() bool { return j.state == rollcallv1.Drain_DRAIN_PREPARING }

// over tells whether the time of its order has passed, and with it all that is known of
// its claim: others may have undone it since.
func (j *job) over(now time.Time) bool { return !j.notAfter.IsZero() && now.After(j.notAfter) }

// order is what the adapter is told.
type order struct {
	claim    string
	kind     engines.Kind
	epoch    int64
	eligible []string
	undo     []byte
	shared   engines.Shared
	notAfter time.Time
	// anew: what was prepared is looked at anew.
	anew bool
}

// conflict answers why an order may not be taken now, or "". Callers hold the lock.
func (d *drainer) conflict(o order, now time.Time) string {
	j := d.job
	switch {
	case d.over.covers(o.claim, o.epoch):
		return fmt.Sprintf("claim %s is restored; this order came too late", o.claim)
	case j == nil, j.claim == "", j.claim == o.claim, o.epoch > j.epoch:
		return ""
	case j.resting:
		return fmt.Sprintf("claim %s is being undone on this pod", j.claim)
	case j.over(now):
		return ""
	}
	return fmt.Sprintf("claim %s is open on this pod (%s); it must be restored first", j.claim, j.state)
}

func (d *drainer) engineOrder(o order) engines.Order {
	return engines.Order{
		Kind: o.kind, Claim: cmp.Or(o.claim, d.own), Eligible: d.translate(o.eligible), Shared: o.shared, Epoch: o.epoch, NotAfter: o.notAfter,
	}
}
