package agenttest

import (
	"context"

	"github.com/rollcall-dev/rollcall/engines"
)

// Engine does what its fields say. A nil field does nothing and succeeds.
type Engine struct {
	OnObserve   func(context.Context) (engines.Observation, error)
	OnPlanDrain func(engines.Order) ([]byte, error)
	OnDrain     func(context.Context, engines.Order, []byte) (engines.Progress, error)
	OnRestore   func([]byte) (engines.Progress, error)
	OnSweep     func([]string) error
	closed      int
}

var _ engines.Engine = (*Engine)(nil)

func (f *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	if f.OnObserve == nil {
		return engines.Observation{Node: "n", Member: engines.MembershipLive, Settled: true}, nil
	}
	return f.OnObserve(ctx)
}

func (f *Engine) PlanDrain(_ context.Context, o engines.Order) ([]byte, error) {
	if f.OnPlanDrain == nil {
		return []byte("undo " + o.Claim + " " + o.Kind.String()), nil
	}
	return f.OnPlanDrain(o)
}

func (f *Engine) Drain(ctx context.Context, o engines.Order, undo []byte) (engines.Progress, error) {
	if f.OnDrain == nil {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	return f.OnDrain(ctx, o, undo)
}

func (f *Engine) Restore(_ context.Context, undo []byte) (engines.Progress, error) {
	if f.OnRestore == nil {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	return f.OnRestore(undo)
}

func (f *Engine) Sweep(_ context.Context, keep []string) error {
	if f.OnSweep == nil {
		return nil
	}
	return f.OnSweep(keep)
}

func (f *Engine) Facts() engines.Facts { return engines.Facts{Name: "Fake"} }
func (f *Engine) Close() error         { f.closed++; return nil }

// Peered is an Engine whose members do things together.
type Peered struct {
	Engine
	OnLook   func(ctx context.Context, fresh bool) ([]byte, error)
	OnStep   func(context.Context, engines.Step) ([]byte, error)
	OnRepair func(context.Context) (engines.Progress, error)
}

var _ engines.Peered = (*Peered)(nil)

func (f *Peered) Look(ctx context.Context, fresh bool) ([]byte, error) {
	if f.OnLook == nil {
		return []byte("{}"), nil
	}
	return f.OnLook(ctx, fresh)
}

func (f *Peered) Step(ctx context.Context, step engines.Step) ([]byte, error) {
	if f.OnStep == nil {
		return []byte("{}"), nil
	}
	return f.OnStep(ctx, step)
}

func (f *Peered) Repair(ctx context.Context) (engines.Progress, error) {
	if f.OnRepair == nil {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	return f.OnRepair(ctx)
}
