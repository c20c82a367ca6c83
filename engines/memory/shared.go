package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// Allocation is the one setting that belongs to the whole database.
	Allocation = "allocation"
	// Throttled is its value while prepares rely on it.
	Throttled = "throttled"
)

var _ engines.Sharer = (*Engine)(nil)

// Shared returns the setting as it is, where the database has one.
func (e *Engine) Shared(ctx context.Context, order engines.Order) (engines.Shared, error) {
	if err := e.enter(ctx, Call{Op: ReadShared, Order: order}); err != nil {
		return engines.Shared{}, err
	}
	if err := check(order); err != nil {
		return engines.Shared{}, err
	}
	if e.cluster.options.Allocation == "" {
		return engines.Shared{}, nil
	}
	return engines.Shared{Knob: Allocation, Undo: []byte(e.cluster.Allocation())}, nil
}

// throttle is the part of Apply that changes the setting.
func (e *Engine) throttle(ctx context.Context, order engines.Order) error {
	if order.Shared.Knob == "" || e.cluster.options.Allocation == "" {
		return nil
	}
	if err := checkKnob(order.Shared); err != nil || e.cluster.Allocation() == Throttled {
		return err
	}
	return e.setAllocation(ctx, Throttled, order.NotAfter)
}

// RestoreShared puts the setting back.
func (e *Engine) RestoreShared(ctx context.Context, shared engines.Shared, notAfter time.Time) (engines.Progress, error) {
	if err := e.enter(ctx, Call{Op: RestoreShared}); err != nil {
		return engines.Progress{}, err
	}
	if err := checkKnob(shared); err != nil {
		return engines.Progress{}, err
	}
	if e.cluster.Allocation() != string(shared.Undo) {
		if err := e.setAllocation(ctx, string(shared.Undo), notAfter); err != nil {
			return engines.Progress{}, err
		}
	}
	return engines.Progress{State: engines.Done}, nil
}

func (e *Engine) setAllocation(ctx context.Context, value string, notAfter time.Time) error {
	if err := e.write(ctx, notAfter); err != nil {
		return err
	}
	e.cluster.locked(func() { e.cluster.allocation = value })
	return nil
}

// Allocation is the value of the setting now.
func (c *Cluster) Allocation() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allocation
}

func checkKnob(shared engines.Shared) error {
	if shared.Knob != Allocation || len(shared.Undo) == 0 || len(shared.Undo) > engines.MaxUndo {
		return fmt.Errorf("setting %.64q with an undo of %d bytes: want %s and its value", shared.Knob, len(shared.Undo), Allocation)
	}
	return nil
}
