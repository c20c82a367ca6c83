package mysql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestPrimaryWithoutAnAgentIsNotLetGo checks that a neighbour lets replicas go, and says of the
// primary what a person can do. Once another one takes writes it may go, too.
func TestPrimaryWithoutAnAgentIsNotLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MariaDB, members: 3}, false)
		w.agents[0].end()
		w.agents[1].end()
		onBehalf := func(node string) (engines.Progress, error) {
			return engines.HandoffOnBehalf(t.Context(), w.agents[2].engine,
				engines.Order{Kind: engines.Handoff, Claim: "adopt", Node: node, NotAfter: time.Now().Add(time.Minute)})
		}
		progress, err := onBehalf("db-1")
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, progress.State, progress.Detail)
		_, err = onBehalf("db-0")
		require.ErrorIs(t, err, engines.ErrOwnAgentOnly)
		require.ErrorContains(t, err, "db-2 follows db-0, which has no agent: move the role to another member by hand, or, when a pause of all writes does no harm, open the pod's guard and delete it")
		require.Equal(t, replication.Allowed, w.list[0].writes)

		w.agents[1].begin()
		w.list[0].writes, w.list[0].source, w.list[0].threads = replication.RefusedBySQL, "db-1", true
		w.list[1].writes, w.list[1].source = replication.Allowed, ""
		progress, err = onBehalf("db-0")
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, progress.State, progress.Detail)
	})
}
