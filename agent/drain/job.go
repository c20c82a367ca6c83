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

// Job is the order being carried out. A job without a claim belongs to the stop
// hook.
type Job struct {
	Claim    string
	kind     engines.Kind
	epoch    int64
	eligible []string // pods
	Undo     []byte
	setting  engines.Setting
	primary  engines.Primary
	notAfter time.Time
	// keepWrites is that of the order. Writes is what the adapter has said to such an order, and
	// Unknown until it has.
	keepWrites bool
	Writes     engines.Writes
	// again ends the pause before the next call of the adapter.
	again chan struct{}

	State       rollcallv1.Drain
	Detail      string
	Done, Total int
	since       time.Time // of state
	// rechecks means that it was drained, and the adapter is asked whether it still is.
	rechecks bool
	// answered means that the database has answered since the job started.
	answered bool

	// Only for claims of a Peered engine; see undo.go. drained means that it was drained once,
	// undoing that the agent itself restores it, restoring that a coordinator has begun to restore
	// it, and undone that the agent has restored it.
	drained, undoing, restoring, undone bool

	ctx    context.Context
	cancel context.CancelFunc
}

// level is the log level. The coordinator rechecks with each of its rounds, which is
// not worth a line.
func (j *Job) level() slog.Level {
	if j.rechecks {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// reported is the state in reports. A drained pod stays drained until the database
// says otherwise: the coordinator rechecks in each of its rounds, and a report of
// DRAIN_DRAINING would contradict it.
func (j *Job) reported() rollcallv1.Drain {
	if j.rechecks && !j.answered && j.Running() {
		return rollcallv1.Drain_DRAIN_DRAINED
	}
	return j.State
}

// ordered takes over what a further order of the same claim says. One that is older than the last
// one, as it has come late, lets no writes stop.
func (j *Job) ordered(o Order) {
	late := o.NotAfter.Before(j.notAfter)
	j.epoch, j.notAfter, j.eligible, j.setting, j.primary = o.Epoch, o.NotAfter, o.Eligible, o.Setting, o.Primary
	if o.KeepWrites == j.keepWrites || late && j.keepWrites {
		return
	}
	j.keepWrites, j.Writes = o.KeepWrites, engines.WritesUnknown
	select {
	case j.again <- struct{}{}:
	default:
	}
}

func (j *Job) Running() bool { return j.State == rollcallv1.Drain_DRAIN_DRAINING }

// Expired reports whether the term of its order has expired. Nothing is certain
// about the claim any more: others may have undone it since.
func (j *Job) Expired(now time.Time) bool { return !j.notAfter.IsZero() && now.After(j.notAfter) }

// Order is one drain as the coordinator, or the stop hook, asks for it.
type Order struct {
	Claim    string
	Kind     engines.Kind
	Epoch    int64
	Eligible []string
	Undo     []byte
	Setting  engines.Setting
	Primary  engines.Primary
	NotAfter time.Time
	// KeepWrites: see engines.Order.
	KeepWrites bool
	// Recheck means that the adapter is asked again if the pod was drained already.
	Recheck bool
}

// Plan is what carrying out an order will change.
type Plan struct {
	Undo    []byte
	Setting engines.Setting
}

// conflict returns why an order may not be taken now, or "". The caller holds mu.
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
		Kind: o.Kind, Primary: o.Primary, KeepWrites: o.KeepWrites, Claim: cmp.Or(o.Claim, d.OwnClaim), Eligible: d.Translate(o.Eligible), Setting: o.Setting, Epoch: o.Epoch, NotAfter: o.NotAfter,
	}
}
