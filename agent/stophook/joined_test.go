package stophook

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestKubeletThatJoinsHasItsWholeTime checks that the kubelet is answered at the end of its own
// time: a caller with the token has called 40 s before, and the database takes longer to hand over
// than that caller has left.
func TestKubeletThatJoinsHasItsWholeTime(t *testing.T) {
	for takes, want := range map[time.Duration]string{70 * time.Second: "Handoff done", time.Hour: "timeout"} {
		stopTest(t, func(t *testing.T, s *stopping) {
			began := time.Now()
			s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
				if time.Since(began) < takes {
					return engines.Progress{State: engines.ProgressRunning, Detail: "catching up"}, nil
				}
				return engines.Progress{State: engines.ProgressDone}, nil
			}
			go s.Call(t.Context(), FromElsewhere)
			time.Sleep(40 * time.Second)
			called := time.Now()
			require.Contains(t, s.Call(t.Context(), FromNode).Line, want)
			require.LessOrEqual(t, time.Since(called), s.budget(), "it ends within the grace period all the same")
		})
	}
}

// TestRefusedStopsAreNotRememberedForEver calls the hook many times from the node's own address, as
// a probe of another pod may. The database refuses each time, and the undo bytes that are kept stay
// bounded.
func TestRefusedStopsAreNotRememberedForEver(t *testing.T) {
	for name, c := range map[string]struct {
		undo func() string
		kept int
	}{
		"the same":  {func() string { return "undo" }, 1},
		"different": {func() string { return time.Now().String() }, maxUndos},
	} {
		t.Run(name, func(t *testing.T) {
			stopTest(t, func(t *testing.T, s *stopping) {
				s.engine.OnPlanDrain = func(engines.Order) ([]byte, error) { return []byte(c.undo()), nil }
				s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
					return engines.Progress{State: engines.ProgressRefused, Detail: "nobody to hand over to"}, nil
				}
				first := c.undo()
				for range 300 {
					s.Call(t.Context(), FromNode)
					time.Sleep(time.Second)
				}
				require.Len(t, s.record.Undo, c.kept)
				require.Equal(t, first, string(s.record.Undo[0]), "what there was at first is put back last")
				file, err := os.Stat(filepath.Join(s.dir, "stop.json"))
				require.NoError(t, err)
				require.Less(t, file.Size(), int64(4<<10))
			})
		})
	}
}

// TestStopEndsAnUndo checks that a real stop ends the slow undo of an earlier stop that came to
// nothing. What the real stop hands over is not undone at once.
func TestStopEndsAnUndo(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.file.Evacuate = true
		s.engine.OnRestore = func(undo []byte) (engines.Progress, error) {
			s.note("restore " + string(undo))
			time.Sleep(20 * time.Second)
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		s.Call(t.Context(), FromNode)
		s.becomes(engines.MembershipNotLive)
		time.Sleep(3 * time.Second)
		s.becomes(engines.MembershipLive)
		time.Sleep(10 * time.Second)
		require.Len(t, s.noted(), 3, "it is being undone: %v", s.noted())
		require.Contains(t, s.Call(t.Context(), FromNode).Line, "Evacuate done")
		time.Sleep(time.Minute)
		require.Len(t, s.noted(), 5, "nothing is undone behind the stop: %v", s.noted())
		s.becomes(engines.MembershipNotLive)
		time.Sleep(3 * time.Second)
		s.becomes(engines.MembershipLive)
		time.Sleep(3 * time.Minute)
		require.Contains(t, s.noted()[5:], "restore undo stop-uid Evacuate")
		require.Contains(t, s.noted()[5:], "restore undo stop-uid Handoff")
		require.Empty(t, s.record.Undo)
	})
}
