package drain

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
)

// What an agent does on behalf of another member, whose pod has no running agent.
// None of it touches the job: this pod is not drained.

// errRestored means that the order came later than the restore of its claim.
var errRestored = errors.New("the claim is restored; this order came too late")

// HandoffOnBehalf makes one round of handing over the duties of another member.
func (d *Drainer) HandoffOnBehalf(ctx context.Context, o Order, node string) (engines.Progress, error) {
	if err := d.take(ctx); err != nil {
		return engines.Progress{}, err
	}
	defer d.release()
	engine, err := d.Engine.Get()
	if err != nil {
		return engines.Progress{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	told := d.engineOrder(o)
	told.Kind, told.Node = engines.Handoff, node
	return engines.HandoffOnBehalf(ctx, engine, told)
}

// PlanOnBehalf returns what evacuating another member would change.
func (d *Drainer) PlanOnBehalf(ctx context.Context, o Order, node string) (undo []byte, err error) {
	err = d.onBehalf(ctx, o, func(ctx context.Context, engine engines.Engine) error {
		undo, err = engine.PlanDrain(ctx, d.orderOnBehalf(o, node))
		if err == nil && len(undo) > engines.MaxUndo {
			err = fmt.Errorf("undo of %d bytes; at most %d are allowed", len(undo), engines.MaxUndo)
		}
		return err
	})
	return undo, err
}

// DrainOnBehalf makes one round of evacuating another member.
func (d *Drainer) DrainOnBehalf(ctx context.Context, o Order, node string) (progress engines.Progress, err error) {
	err = d.onBehalf(ctx, o, func(ctx context.Context, engine engines.Engine) error {
		progress, err = engine.Drain(ctx, d.orderOnBehalf(o, node), o.Undo)
		return err
	})
	return progress, err
}

func (d *Drainer) orderOnBehalf(o Order, node string) engines.Order {
	told := d.engineOrder(o)
	told.Node = node
	return told
}

// onBehalf calls an adapter that can evacuate others, unless the claim was restored
// before its turn came.
func (d *Drainer) onBehalf(ctx context.Context, o Order, call func(context.Context, engines.Engine) error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.release()
	engine, err := d.Engine.Get()
	if err != nil {
		return err
	}
	d.mu.Lock()
	restored := d.restored.covers(o.Claim, o.Epoch)
	d.mu.Unlock()
	switch {
	case restored:
		return fmt.Errorf("claim %s: %w", o.Claim, errRestored)
	case !engine.Facts().EvacuatesOthers:
		return fmt.Errorf("%w: a member of %s is emptied from its own pod", engines.ErrOwnAgentOnly, engine.Facts().Name)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx, engine)
}
