package galera

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// node returns the name of the local member, if its server says all that is needed.
func (e *Engine) node(ctx context.Context) (string, error) {
	s := e.local(ctx)
	return s.Node, engines.Unserved(ctx, s.Serving, s.Node, s.Problem)
}

// Drain waits until the member can leave. Clients are left alone: the server ends their sessions
// when it stops, and by then Kubernetes has taken the pod out of its Services. A member that refused
// their statements before that would only add errors.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undo []byte) (engines.Progress, error) {
	node, err := e.Planned(ctx, order, undo)
	if err != nil {
		return engines.Progress{}, err
	}
	v, err := e.gather(ctx, true)
	if err != nil {
		return engines.Progress{}, err
	}
	d := departure{assessment: assess(v), node: node, since: e.began(order.Claim, v.Now), longest: e.options.LongWrites}
	p := d.decide()
	if p.State == engines.ProgressDone {
		e.forget(order.Claim)
	}
	return p, nil
}

// maxClaims bounds how many drains are remembered.
const maxClaims = 64

// began returns when the claim was tried first.
func (e *Engine) began(claim string, now time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if since, known := e.draining[claim]; known {
		return since
	}
	if len(e.draining) == maxClaims {
		clear(e.draining)
	}
	e.draining[claim] = now
	return now
}

func (e *Engine) forget(claim string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.draining, claim)
}

// Restore has nothing to undo, and forgets when the drain began.
func (e *Engine) Restore(ctx context.Context, undo []byte) (engines.Progress, error) {
	if planned, err := engines.DecodeUndo(undo); err == nil {
		e.forget(planned.Claim)
	}
	return e.Unchanging.Restore(ctx, undo)
}
