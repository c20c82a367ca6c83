package agent

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/engines"
)

// fakeEngine does what its fields say; a nil field does nothing and succeeds.
type fakeEngine struct {
	observe func(context.Context) (engines.Observation, error)
	plan    func(engines.Order) ([]byte, error)
	apply   func(context.Context, engines.Order, []byte) (engines.Progress, error)
	restore func([]byte) (engines.Progress, error)
	sweep   func([]string) error
	closed  int
}

var _ engines.Engine = (*fakeEngine)(nil)

func (f *fakeEngine) Observe(ctx context.Context) (engines.Observation, error) {
	if f.observe == nil {
		return engines.Observation{Node: "n", Member: engines.Live, Settled: true}, nil
	}
	return f.observe(ctx)
}

func (f *fakeEngine) Plan(_ context.Context, o engines.Order) ([]byte, error) {
	if f.plan == nil {
		return []byte("undo " + o.Claim + " " + o.Kind.String()), nil
	}
	return f.plan(o)
}

func (f *fakeEngine) Apply(ctx context.Context, o engines.Order, undo []byte) (engines.Progress, error) {
	if f.apply == nil {
		return engines.Progress{State: engines.Done}, nil
	}
	return f.apply(ctx, o, undo)
}

func (f *fakeEngine) Restore(_ context.Context, undo []byte) (engines.Progress, error) {
	if f.restore == nil {
		return engines.Progress{State: engines.Done}, nil
	}
	return f.restore(undo)
}

func (f *fakeEngine) Sweep(_ context.Context, keep []string) error {
	if f.sweep == nil {
		return nil
	}
	return f.sweep(keep)
}

func (f *fakeEngine) Facts() engines.Facts { return engines.Facts{Name: "Fake"} }
func (f *fakeEngine) Close() error         { f.closed++; return nil }

// fakePeered is a fakeEngine whose members do things together.
type fakePeered struct {
	fakeEngine
	look func(ctx context.Context, fresh bool) ([]byte, error)
	step func(context.Context, engines.Step) ([]byte, error)
	tend func(context.Context) (engines.Progress, error)
}

var _ engines.Peered = (*fakePeered)(nil)

func (f *fakePeered) Look(ctx context.Context, fresh bool) ([]byte, error) {
	if f.look == nil {
		return []byte("{}"), nil
	}
	return f.look(ctx, fresh)
}

func (f *fakePeered) Step(ctx context.Context, step engines.Step) ([]byte, error) {
	if f.step == nil {
		return []byte("{}"), nil
	}
	return f.step(ctx, step)
}

func (f *fakePeered) Tend(ctx context.Context) (engines.Progress, error) {
	if f.tend == nil {
		return engines.Progress{State: engines.Done}, nil
	}
	return f.tend(ctx)
}

func slotOf(e engines.Engine) *slot { return &slot{engine: e} }

func testMetrics() *metrics {
	return newMetrics(prometheus.NewRegistry(), "test", func() time.Duration { return 0 })
}
