package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// watched forwards everything to an engine and keeps its output, so that each case can search it
// for secrets.
type watched struct {
	engines.Engine
	mu  sync.Mutex
	out strings.Builder
}

func (w *watched) Observe(ctx context.Context) (engines.Observation, error) {
	o, err := w.Engine.Observe(ctx)
	w.keep(o, err)
	return o, err
}

func (w *watched) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	undo, err := w.Engine.PlanDrain(ctx, order)
	w.keep(string(undo), err)
	return undo, err
}

func (w *watched) Drain(ctx context.Context, order engines.Order, undo []byte) (engines.Progress, error) {
	p, err := w.Engine.Drain(ctx, order, undo)
	w.keep(p, err)
	return p, err
}

func (w *watched) Restore(ctx context.Context, undo []byte) (engines.Progress, error) {
	p, err := w.Engine.Restore(ctx, undo)
	w.keep(p, err)
	return p, err
}

func (w *watched) Sweep(ctx context.Context, keep []string) error {
	err := w.Engine.Sweep(ctx, keep)
	w.keep(nil, err)
	return err
}

func (w *watched) keep(value any, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, _ := json.Marshal(value)
	fmt.Fprintf(&w.out, "%s %+v %#v\n", text, value, value)
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&w.out, "%v %+v %#v\n", err, err, err)
	}
}

func (w *watched) requireNoSecret(t *testing.T, secrets []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range secrets {
		require.NotContains(t, w.out.String(), s, "secret %d is in the output", i)
	}
}
