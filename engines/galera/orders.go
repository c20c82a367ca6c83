package galera

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

var errNotServing = errors.New("the local server does not serve")

// node returns the name of the local member, if its server says all that is needed.
func (e *Engine) node(ctx context.Context) (string, error) {
	s := e.local(ctx)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !s.Serving || s.Node == "":
		return "", fmt.Errorf("%w: %s", errNotServing, s.Problem)
	}
	return s.Node, nil
}

// PlanDrain names the order: a drain changes nothing that would have to be undone.
func (e *Engine) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := order.Check(); err != nil {
		return nil, err
	}
	node, err := e.node(ctx)
	if err != nil {
		return nil, err
	}
	return order.UndoOn(order.Subject(node)).Encode()
}

// Drain waits until the member can leave. Clients are left alone: the server ends their sessions
// when it stops, and by then Kubernetes has taken the pod out of its Services. A member that refused
// their statements before that would only add errors.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undo []byte) (engines.Progress, error) {
	node, err := order.Planned(undo, func() (string, error) { return e.node(ctx) })
	if err != nil {
		return engines.Progress{}, err
	}
	if err := engines.InTime(order.NotAfter); err != nil {
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

// Restore has nothing to undo. It is done only if the server answers, as a drain is.
func (e *Engine) Restore(ctx context.Context, undo []byte) (engines.Progress, error) {
	planned, err := engines.DecodeUndo(undo)
	if err != nil {
		return engines.Progress{}, err
	}
	e.forget(planned.Claim)
	if _, err := e.node(ctx); err != nil {
		return engines.Progress{}, err
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

// Sweep has nothing to remove.
func (e *Engine) Sweep(ctx context.Context, _ []string) error {
	_, err := e.node(ctx)
	return err
}
