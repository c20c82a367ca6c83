package drain

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/engines"
)

// kept is what an engine was ordered of writes, call by call.
type kept struct {
	mu    sync.Mutex
	calls []bool
}

func (k *kept) add(keep bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, keep)
}

// since returns the calls but the first ones.
func (k *kept) since(first int) []bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.calls[first:])
}

// keeping is an engine that is ready to hand over, and takes a while for each call.
func keeping(k *kept) *agenttest.Engine {
	return &agenttest.Engine{OnDrain: func(_ context.Context, o engines.Order, _ []byte) (engines.Progress, error) {
		k.add(o.KeepWrites)
		time.Sleep(time.Second)
		p := engines.Progress{State: engines.ProgressRunning, Detail: "a long write"}
		if o.KeepWrites {
			p.Writes = engines.WritesReady
		}
		return p, nil
	}}
}

// TestKeptWritesAreToldOnceTheyAre checks that an agent says that writes are kept only once the
// database was asked under such an order, and no more once another order has come.
func TestKeptWritesAreToldOnceTheyAre(t *testing.T) {
	var calls kept
	draining(t, keeping(&calls), func(t *testing.T, d *Drainer) {
		began := time.Now()
		order := func(keep bool, sent time.Duration) engines.Writes {
			o := handoff("c", 1)
			o.KeepWrites, o.NotAfter = keep, began.Add(sent).Add(time.Minute)
			_, err := d.Drain(o)
			require.NoError(t, err)
			j, _ := d.Status()
			return j.Writes
		}
		order(false, 0)
		time.Sleep(20*time.Second + 500*time.Millisecond) // the pauses are at their longest
		require.Equal(t, engines.WritesUnknown, order(true, 20*time.Second), "a call may be under way")
		time.Sleep(3 * time.Second)
		require.Equal(t, engines.WritesReady, order(true, 23*time.Second))
		require.Equal(t, engines.WritesReady, order(false, 10*time.Second), "it has come late")
		before := len(calls.since(0))
		time.Sleep(time.Minute / 4)
		require.NotContains(t, calls.since(before), false)
		require.Equal(t, engines.WritesUnknown, order(false, 40*time.Second))
		before = len(calls.since(0))
		time.Sleep(1100 * time.Millisecond)
		require.Contains(t, calls.since(before), false, "at once")
	})
}

// TestKeptWritesOutlastTheProcess checks that an agent that is started again keeps writes that its
// predecessor was ordered to keep.
func TestKeptWritesOutlastTheProcess(t *testing.T) {
	living(t, func(t *testing.T, l *lives) {
		o := handoff("c", 3)
		o.KeepWrites, o.NotAfter = true, time.Now().Add(time.Minute)
		_, err := l.Drainer.Drain(o)
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		l.again()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		require.Greater(t, len(l.applied), 10)
		for _, o := range l.applied {
			require.True(t, o.KeepWrites)
		}
	})
}
