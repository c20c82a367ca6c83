package agent

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestWhoAsksAndGoesAwayTakesNoMemory: a database does not answer for as long as a look may take, and meanwhile somebody asks for
// fresh reports and goes away, again and again.
func TestWhoAsksAndGoesAwayTakesNoMemory(t *testing.T) {
	begun := make(chan struct{}, 1)
	engine := &fakeEngine{observe: func(ctx context.Context) (engines.Observation, error) {
		select {
		case begun <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return engines.Observation{}, ctx.Err()
	}}
	p := newProber(slotOf(engine), time.Hour, time.Hour, testMetrics(), func(sighting) {})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.run(ctx)
	}()
	<-begun
	gone, goes := context.WithCancel(t.Context())
	goes()
	before := heap()
	for range 20000 {
		_, err := p.fresh(gone)
		require.Error(t, err)
	}
	require.Less(t, heap()-before, int64(1<<20))
	cancel()
	<-ended
}

// heap is how many bytes of it are in use.
func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
