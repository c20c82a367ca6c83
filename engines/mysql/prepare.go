package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
)

// pause is the time between two looks while writes are stopped.
const pause = 100 * time.Millisecond

// stillFor is how long nothing may change after writes were stopped. InnoDB caches its
// list of transactions for 0.1 s, so the second look sees a newer one.
const stillFor = 250 * time.Millisecond

// PlanDrain returns which member's role the order gives away, and whether the member has the role.
func (e *Engine) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := order.Check(); err != nil {
		return nil, err
	}
	s, err := e.serving(ctx)
	if err != nil {
		return nil, err
	}
	u := undo{Undo: order.UndoOn(order.Subject(s.Node))}
	u.Wrote = u.Node == s.Node && (s.Writes == replication.Allowed || s.Switch != nil && s.Switch.From == s.Node)
	if !u.Wrote || e.options.Failover != "" {
		return u.encode()
	}
	v, err := e.gather(ctx, task{}, true)
	if err != nil {
		return nil, err
	}
	if v.InPlace() && !v.Mine() {
		u.Wrote, u.InPlace = false, s.Source == nil
	}
	return u.encode()
}

// Drain hands the role of the local member over, as far as it can at once. While writes
// are stopped it returns only at the end, or with its context.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undoBytes []byte) (engines.Progress, error) {
	if err := order.Check(); err != nil {
		return engines.Progress{}, err
	}
	planned, err := decodeUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	s, err := e.serving(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	node := order.Subject(s.Node)
	if err := planned.Matches(order, node); err != nil {
		return engines.Progress{}, err
	}
	switch {
	case node != s.Node && order.Kind == engines.Handoff:
		return e.standIn(ctx, node)
	case node != s.Node:
		return engines.Progress{State: engines.ProgressRefused, Detail: "only the agent of " + engines.OneLine(node) + " can hand over its role"}, nil
	case e.options.Failover != "":
		return e.elsewhere(ctx, order, s)
	}
	if will := planned.primary(); will != engines.PrimaryUnknown && order.Primary != engines.PrimaryUnknown && order.Primary != will {
		return engines.Progress{State: engines.ProgressRunning, Detail: fmt.Sprintf("the order is %s for the primary, and %s planned %s", order.Primary, s.Node, will)}, nil
	}
	return e.handOver(ctx, task{
		claim: order.Claim, eligible: order.Eligible, notAfter: order.NotAfter, epoch: order.Epoch, wrote: planned.Wrote,
		primary: planned.primary(), wanted: e.target(order.Claim, s),
		waited:   order.Epoch == 0 && e.waited(order.Claim) > e.options.Limits.Follow,
		evacuate: order.Kind == engines.Evacuate, keepWrites: order.KeepWrites,
	})
}

// target returns the state of the local server that its replicas must come to before it restarts in
// place: that of the first call of the claim, or one of at most MaxLag ago. Its clients go on
// writing, so replicas never have what it has now.
func (e *Engine) target(claim string, s replication.State) *replication.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if e.wanted.claim != claim {
		e.wanted.claim, e.wanted.began, e.wanted.at = claim, now, time.Time{}
	}
	if now.Sub(e.wanted.at) > e.options.MaxLag {
		e.wanted.at, e.wanted.state = now, s
	}
	state := e.wanted.state
	return &state
}

// waited returns for how long the replicas have been waited for under the claim.
func (e *Engine) waited(claim string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wanted.claim != claim {
		return 0
	}
	return time.Since(e.wanted.began)
}

// task is what an Input needs besides the States.
type task struct {
	claim    string
	eligible []string
	notAfter time.Time
	epoch    int64
	wrote    bool
	primary  engines.Primary
	wanted   *replication.State // what the replicas of a primary that stays must have
	waited   bool               // they were waited for as long as a pod that is stopped anyway may
	undoing  bool
	evacuate bool
	// keepWrites means that nothing is begun that stops writes.
	keepWrites bool
	refusals   map[string]string
	dropped    *bool
}

// undo makes the task one that takes back. That may be done at any time, also after an order of a
// higher epoch, as a new leader has.
func (t *task) undo() { t.notAfter, t.epoch = time.Time{}, 0 }

// handOver decides and acts until a wait is longer than writes may be stopped, or nothing is left
// to do.
func (e *Engine) handOver(ctx context.Context, t task) (engines.Progress, error) {
	t.refusals, t.dropped = map[string]string{}, new(bool)
	var last switchover.Action
	for {
		v, err := e.gather(ctx, t, true)
		if err != nil {
			return engines.Progress{}, err
		}
		a := switchover.Next(v)
		if writes := v.Keeps(a); t.keepWrites && writes != engines.WritesUnknown {
			return engines.Progress{State: engines.ProgressRunning, Detail: a.Reason, Writes: writes}, nil
		}
		switch a.Kind {
		case switchover.Done:
			if t.evacuate {
				return v.Copied(a.Reason), nil
			}
			return engines.Progress{State: engines.ProgressDone, Detail: a.Reason}, nil
		case switchover.Refused:
			return engines.Progress{State: engines.ProgressRefused, Detail: a.Reason}, nil
		case switchover.Wait:
			if !v.Mine() || v.Self.State.Writes == replication.Allowed {
				return engines.Progress{State: engines.ProgressRunning, Detail: a.Reason}, nil
			}
		default:
			again := a.Kind == last.Kind && a.To == last.To
			last = a
			if err = e.carryOut(ctx, v, t, a); err == nil && !again {
				continue
			}
		}
		if ctx.Err() != nil {
			return engines.Progress{}, ctx.Err()
		}
		if err != nil && !e.handing() {
			return engines.Progress{State: engines.ProgressRunning, Detail: a.Reason + ": " + engines.OneLine(err.Error())}, nil
		}
		if !engines.Sleep(ctx, pause) {
			return engines.Progress{}, ctx.Err()
		}
	}
}

// handing reports whether the newest look showed writes stopped for a switchover of our own.
func (e *Engine) handing() bool {
	s := e.newestLook()
	return s.Switch != nil && s.Switch.From == s.Node && s.Writes != replication.Allowed
}
