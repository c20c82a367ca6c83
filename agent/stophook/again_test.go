package stophook

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestRefusedStopsKeepNoPodStopping calls the hook again and again with the token while the
// database refuses to hand over, as a database without other members does. The pod must not be
// announced as stopping for ever: it would not be repaired, and the other pods would not be rolled.
func TestRefusedStopsKeepNoPodStopping(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			return engines.Progress{State: engines.ProgressRefused, Detail: "nobody to hand over to"}, nil
		}
		stopping := 0
		for range 60 {
			s.Call(t.Context(), FromElsewhere)
			time.Sleep(30 * time.Second)
			if s.phase() == rollcallv1.Phase_PHASE_STOPPING {
				stopping++
			}
		}
		require.Less(t, stopping, 15, "of 60 looks in half an hour")
	})
}

// TestStopAmongRefusedOnesIsCarriedOut checks that as soon as the database can hand over again, the
// next call hands over, from wherever it comes, and the pod is announced as stopping.
func TestStopAmongRefusedOnesIsCarriedOut(t *testing.T) {
	for _, from := range []string{FromElsewhere, FromNode} {
		stopTest(t, func(t *testing.T, s *stopping) {
			var yields atomic.Bool
			done := s.engine.OnDrain
			s.engine.OnDrain = func(ctx context.Context, o engines.Order, undo []byte) (engines.Progress, error) {
				if yields.Load() {
					return done(ctx, o, undo)
				}
				return engines.Progress{State: engines.ProgressRefused, Detail: "nobody to hand over to"}, nil
			}
			caller, goes := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for caller.Err() == nil {
					s.Call(caller, FromElsewhere)
					time.Sleep(time.Millisecond)
				}
			}()
			time.Sleep(45 * time.Second)
			require.Equal(t, rollcallv1.Phase_PHASE_WATCHING, s.phase(), "however often it is called")
			require.NotContains(t, s.noted(), "apply stop-uid Handoff")
			yields.Store(true)
			began := time.Now()
			require.Contains(t, s.Call(t.Context(), from).Line, "Handoff done")
			require.LessOrEqual(t, time.Since(began), drain.RetryRefused+time.Second)
			require.Equal(t, 1, s.applied())
			require.Equal(t, rollcallv1.Phase_PHASE_STOPPING, s.phase())
			goes()
			<-ended
		})
	}
}
