package engines

import (
	"context"
	"fmt"
)

// Unchanging is the part of a Peered engine that changes nothing in its database: there is nothing to
// undo, and members ask each other for nothing.
type Unchanging struct {
	// Engine is the name of the engine.
	Engine string
	// Node returns the name of the local member, if its server says all that is needed.
	Node func(ctx context.Context) (string, error)
}

// PlanDrain names the order.
func (u Unchanging) PlanDrain(ctx context.Context, order Order) ([]byte, error) {
	if err := order.Check(); err != nil {
		return nil, err
	}
	node, err := u.Node(ctx)
	if err != nil {
		return nil, err
	}
	return order.UndoOn(order.Subject(node)).Encode()
}

// Planned returns the node that the order drains, if it was planned and its time is not over.
func (u Unchanging) Planned(ctx context.Context, order Order, undo []byte) (string, error) {
	node, err := order.Planned(undo, func() (string, error) { return u.Node(ctx) })
	if err != nil {
		return "", err
	}
	return node, InTime(order.NotAfter)
}

// Restore has nothing to undo. It is done only if the server answers, as a drain is.
func (u Unchanging) Restore(ctx context.Context, undo []byte) (Progress, error) {
	if _, err := DecodeUndo(undo); err != nil {
		return Progress{}, err
	}
	if _, err := u.Node(ctx); err != nil {
		return Progress{}, err
	}
	return Progress{State: ProgressDone}, nil
}

// Sweep has nothing to remove.
func (u Unchanging) Sweep(ctx context.Context, _ []string) error {
	_, err := u.Node(ctx)
	return err
}

// Step refuses.
func (u Unchanging) Step(context.Context, Step) ([]byte, error) {
	return nil, fmt.Errorf("members of %s ask each other for nothing", u.Engine)
}

// Repair does nothing.
func (u Unchanging) Repair(ctx context.Context) (Progress, error) {
	return Progress{State: ProgressDone}, ctx.Err()
}
