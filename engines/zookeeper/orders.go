package zookeeper

import (
	"context"
	"errors"
	"fmt"

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

// Drain waits until the member can leave. ZooKeeper has no means to hand leadership over: the others
// elect when the leader stops.
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
	return departure{assessment: assess(v), node: node, forGood: order.Kind == engines.Evacuate}.decide(), nil
}

// Restore has nothing to undo. It is done only if the server answers, as a drain is.
func (e *Engine) Restore(ctx context.Context, undo []byte) (engines.Progress, error) {
	if _, err := engines.DecodeUndo(undo); err != nil {
		return engines.Progress{}, err
	}
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
