package agent

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestRefusedStopsKeepNoPodStopping: whoever has the token calls again and again while the database refuses to hand over, as one
// does that has nobody to hand over to. The pod is not said to stop for ever: nobody would tend it, or roll the others.
func TestRefusedStopsKeepNoPodStopping(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.apply = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			return engines.Progress{State: engines.Refused, Detail: "nobody to hand over to"}, nil
		}
		stopping := 0
		for range 60 {
			s.call(t.Context(), fromElsewhere)
			time.Sleep(30 * time.Second)
			if s.phase() == rollcallv1.Phase_PHASE_STOPPING {
				stopping++
			}
		}
		require.Less(t, stopping, 15, "of 60 looks in half an hour")
	})
}
