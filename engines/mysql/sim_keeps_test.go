package mysql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestWritesAreKept checks that a primary that was ordered to keep writes begins nothing, however
// often it is asked, and hands over on the first order that does not say so.
func TestWritesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, setup := range []simSetup{{flavor: replication.MySQL, members: 3, acks: 1}, {flavor: replication.MariaDB, members: 3}, {flavor: replication.MySQL, members: 2, stays: simStays{chart: true}}} {
			w := newWorld(setup, true)
			e := w.agents[0].engine
			order := engines.Order{Kind: engines.Handoff, Claim: "c", Epoch: 1, NotAfter: time.Now().Add(time.Minute), KeepWrites: true}
			undo, err := e.PlanDrain(t.Context(), order)
			require.NoError(t, err)
			for range 5 {
				p, err := e.Drain(t.Context(), order, undo)
				require.NoError(t, err)
				require.Equal(t, engines.ProgressRunning, p.State)
				require.Equal(t, engines.WritesReady, p.Writes)
				require.Equal(t, replication.Allowed, w.list[0].writes)
				require.Nil(t, e.local(t.Context()).Switch)
			}
			order.KeepWrites = false
			p, err := e.Drain(t.Context(), order, undo)
			require.NoError(t, err)
			require.Equal(t, engines.ProgressDone, p.State, p.Detail)
			require.Equal(t, setup.stays.chart, w.list[0].writes == replication.Allowed)
		}
	})
}
