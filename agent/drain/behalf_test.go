package drain

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/engines"
)

// TestOthersAreNotEmptied checks that an adapter without EvacuatesOthers empties no other member.
func TestOthersAreNotEmptied(t *testing.T) {
	draining(t, &agenttest.Engine{}, func(t *testing.T, d *Drainer) {
		_, err := d.PlanOnBehalf(t.Context(), Order{Claim: "move", Kind: engines.Evacuate, Epoch: 1}, "n2")
		require.ErrorIs(t, err, engines.ErrOwnAgentOnly)
		require.ErrorContains(t, err, "a member of Fake is emptied from its own pod")
	})
}

// emptier can evacuate others, and records which.
type emptier struct {
	agenttest.Engine
	orders []engines.Order
}

func (e *emptier) Facts() engines.Facts { return engines.Facts{Name: "Fake", EvacuatesOthers: true} }

func (e *emptier) Drain(_ context.Context, o engines.Order, undo []byte) (engines.Progress, error) {
	e.orders = append(e.orders, o)
	return engines.Progress{State: engines.ProgressRunning, Detail: string(undo), Done: 1, Total: 3}, nil
}

// TestOthersWaitForTheirTurn checks that there is one writer at a time, and that the job stays as
// it is.
func TestOthersWaitForTheirTurn(t *testing.T) {
	e := &emptier{}
	draining(t, e, func(t *testing.T, d *Drainer) {
		require.NoError(t, d.take(t.Context()))
		o := Order{Claim: "move", Kind: engines.Evacuate, Epoch: 1, Undo: []byte("u"), Eligible: []string{"db-2"}, NotAfter: time.Now().Add(time.Minute)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.DrainOnBehalf(ctx, o, "n2")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, e.orders)
		d.release()
		progress, err := d.DrainOnBehalf(t.Context(), o, "n2")
		require.NoError(t, err)
		require.Equal(t, engines.Progress{State: engines.ProgressRunning, Detail: "u", Done: 1, Total: 3}, progress)
		require.Equal(t, []engines.Order{{Kind: engines.Evacuate, Claim: "move", Node: "n2", Eligible: []string{"db-2"}, Epoch: 1, NotAfter: o.NotAfter}}, e.orders)
		require.Nil(t, d.job)
	})
}
