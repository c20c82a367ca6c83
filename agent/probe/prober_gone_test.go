package probe

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/engines"
)

// TestWhoAsksAndGoesAwayTakesNoMemory checks that callers that ask for fresh reports and go away
// take no memory, while the database does not answer for as long as a look may take.
func TestWhoAsksAndGoesAwayTakesNoMemory(t *testing.T) {
	begun := make(chan struct{}, 1)
	engine := &agenttest.Engine{OnObserve: func(ctx context.Context) (engines.Observation, error) {
		select {
		case begun <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return engines.Observation{}, ctx.Err()
	}}
	p := newTestProber(slotOf(engine), time.Hour, time.Hour, func(Result) {})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	<-begun
	gone, goes := context.WithCancel(t.Context())
	goes()
	before := heap()
	for range 20000 {
		_, err := p.Fresh(gone)
		require.Error(t, err)
	}
	require.Less(t, heap()-before, int64(1<<20))
	cancel()
	<-ended
}

// heap is how many bytes of it are in use.
