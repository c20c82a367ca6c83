package enginetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// scribe records the steps that it takes; its other methods are never called.
type scribe struct {
	engines.Peered
	answer []byte

	mu    sync.Mutex
	steps []string
}

func (s *scribe) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.steps)
}

func (s *scribe) Look(context.Context, bool) ([]byte, error) { return s.answer, nil }

func (s *scribe) Step(_ context.Context, step engines.Step) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step.Name)
	return s.answer, nil
}

func wireOfTwo() (w *Wire, a engines.Peers, b *scribe) {
	w, b = NewWire(), &scribe{answer: []byte("{}")}
	a = w.From("a")
	w.Connect(map[string]engines.Peered{"a": &scribe{}, "b": b})
	return w, a, b
}

func TestWireLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := wireOfTwo()
		body, err := a.Step(t.Context(), "b", engines.Step{Name: "one"})
		require.NoError(t, err)
		require.Equal(t, "{}", string(body))
		body, err = a.Look(t.Context(), "b", true)
		require.NoError(t, err)
		require.Equal(t, "{}", string(body))
		require.True(t, a.List()[0].Alive)

		w.Link("", "b", Deaf)
		_, err = a.Step(t.Context(), "b", engines.Step{Name: "lost"})
		require.Error(t, err)
		require.Equal(t, []string{"one", "lost"}, b.taken(), "taken all the same")

		w.Link("", "b", Cut)
		start := time.Now()
		_, err = a.Step(t.Context(), "b", engines.Step{Name: "cut"})
		require.Error(t, err)
		require.Zero(t, time.Since(start))
		require.False(t, a.List()[0].Alive)

		w.Link("", "b", Silent)
		_, err = a.Step(t.Context(), "b", engines.Step{Name: "silent"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, WireTimeout, time.Since(start), "bounded")
		require.Len(t, b.taken(), 2)

		w.Link("", "b", Whole)
		w.Watch(func(from, to string, step engines.Step) Link {
			require.Equal(t, []string{"a", "b", "watched"}, []string{from, to, step.Name})
			return Deaf
		})
		_, err = a.Step(t.Context(), "b", engines.Step{Name: "watched"})
		require.Error(t, err)
		require.Len(t, b.taken(), 3)
		w.Watch(nil)

		w.Connect(map[string]engines.Peered{"b": nil})
		_, err = a.Step(t.Context(), "b", engines.Step{Name: "gone"})
		require.Error(t, err)
		require.False(t, a.List()[0].Alive)
		_, err = a.Step(t.Context(), "c", engines.Step{Name: "nobody"})
		require.Error(t, err)
	})
}

// TestWireDelivers checks that what was sent arrives even if the caller no longer waits, but not
// after its time.
func TestWireDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := wireOfTwo()
		w.Delay("b", 3*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Step(ctx, "b", engines.Step{Name: "late"})
		require.Error(t, err)
		require.Empty(t, b.taken())
		w.Wait()
		require.Equal(t, []string{"late"}, b.taken())
		_, err = a.Step(t.Context(), "b", engines.Step{Name: "too late", NotAfter: time.Now().Add(2 * time.Second)})
		require.ErrorIs(t, err, engines.ErrTooLate)
		require.Len(t, b.taken(), 1)
	})
}

func TestWireHasOneWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := wireOfTwo()
		w.Alone("b", func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := a.Step(ctx, "b", engines.Step{Name: "meanwhile"})
			require.Error(t, err)
			_, err = a.Look(t.Context(), "b", false)
			require.NoError(t, err, "looks wait for nobody")
			require.Empty(t, b.taken())
		})
		w.Wait()
		require.Len(t, b.taken(), 1)
		w.Alone("b", func() {
			start := time.Now()
			_, err := a.Step(t.Context(), "b", engines.Step{Name: "for long"})
			require.ErrorIs(t, err, errBusy)
			require.Equal(t, WireBusy, time.Since(start))
		})
		require.Len(t, b.taken(), 1)
	})
}

func TestWireIsBounded(t *testing.T) {
	_, a, b := wireOfTwo()
	_, err := a.Step(t.Context(), "b", engines.Step{Name: "huge", Body: make([]byte, engines.MaxStep+1)})
	require.ErrorContains(t, err, "at most")
	require.Empty(t, b.taken())
	b.answer = make([]byte, engines.MaxStep+1)
	_, err = a.Look(t.Context(), "b", false)
	require.ErrorContains(t, err, "at most")
}
