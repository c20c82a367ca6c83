package drain

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/engines"
)

// A stalled connection delivers a drain after its claim was restored, by a coordinator that had
// reconnected: nobody would ever undo it.
func TestLateDrainOfARestoredClaimIsRefused(t *testing.T) {
	var plans atomic.Int32
	engine := &agenttest.Engine{OnPlanDrain: func(engines.Order) ([]byte, error) { plans.Add(1); return []byte("undo"), nil }}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		late := handoff("c", 3)
		late.NotAfter = time.Now().Add(30 * time.Second)
		_, err := d.Restore(t.Context(), "c", 3, []byte("undo")) // of a claim that was never applied here
		require.NoError(t, err)

		words, err := d.Drain(late)
		require.NoError(t, err)
		require.Contains(t, words, "claim c is restored")
		require.Equal(t, none, d.state())
		_, words, err = d.Plan(t.Context(), late)
		require.NoError(t, err)
		require.Contains(t, words, "claim c is restored")
		require.Zero(t, plans.Load())

		words, err = d.Drain(handoff("another", 3))
		require.NoError(t, err)
		require.Empty(t, words)
		require.Equal(t, prepared, d.state())
	})
}

// The same while the restore is under way: the job must not be begun behind its back.
func TestDrainDuringItsRestoreIsRefused(t *testing.T) {
	engine := &agenttest.Engine{OnRestore: func([]byte) (engines.Progress, error) {
		time.Sleep(5 * time.Second)
		return engines.Progress{State: engines.ProgressDone}, nil
	}}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		_, err := d.Drain(handoff("c", 1))
		require.NoError(t, err)
		require.Equal(t, prepared, d.state())
		d.Background(func() { _, _ = d.Restore(d.ctx, "c", 1, nil) })
		time.Sleep(time.Second)
		words, err := d.Drain(handoff("c", 1))
		require.NoError(t, err)
		require.NotEmpty(t, words)
		time.Sleep(time.Minute)
		require.Equal(t, none, d.state())
	})
}

// The next coordinator does not know that its predecessor was about to give up.
func TestRestoredClaimMayBeDrainedInTheNextEpoch(t *testing.T) {
	draining(t, &agenttest.Engine{}, func(t *testing.T, d *Drainer) {
		_, err := d.Restore(t.Context(), "c", 3, []byte("undo"))
		require.NoError(t, err)
		words, err := d.Drain(handoff("c", 4))
		require.NoError(t, err)
		require.Empty(t, words)
		require.Equal(t, prepared, d.state())
	})
}

func TestRestoredClaimsAreBounded(t *testing.T) {
	var o restoredClaims
	for i := range 2 * maxRestoredClaims {
		o.add(fmt.Sprint("c", i), 7)
		o.add("again", 8)
	}
	o.add("again", 2)
	require.Len(t, o, maxRestoredClaims)
	require.True(t, o.covers(fmt.Sprint("c", 2*maxRestoredClaims-1), 7))
	require.False(t, o.covers("c0", 7), "long ago")
	require.True(t, o.covers("again", 8), "the highest epoch counts")
	require.False(t, o.covers("again", 9))
}
