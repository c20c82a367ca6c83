package opensearch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestHandoffWaitsForNodesThatDoNotTell checks that a handoff waits for nodes with unknown roles,
// since one of them could take over.
func TestHandoffWaitsForNodesThatDoNotTell(t *testing.T) {
	c := newFakeCluster(t, 3, "cluster_manager")
	c.locked(func() { c.unready["id-1"], c.unready["id-2"] = true, true })
	e := mustNew(t, testOptions(c.options(0)))
	undo, err := e.PlanDrain(t.Context(), handoffOf("c1"))
	require.NoError(t, err)
	for range 2 {
		p, err := e.Drain(t.Context(), handoffOf("c1"), undo)
		require.NoError(t, err)
		require.Equal(t, engines.Progress{State: engines.ProgressRunning, Detail: "waiting for db-1, db-2 to tell whether they could be elected instead of db-0"}, p)
	}
	require.Empty(t, c.leftovers())
	c.locked(func() { clear(c.unready) })
	_, last := do(t, e, handoffOf("c1"))
	require.Equal(t, engines.ProgressDone, last.State)
	require.NotEqual(t, "id-0", c.elected)
}

// TestEvacuationOfTheOnlyManagerIsRefused checks that the only node that can be elected is not
// evacuated: it has the cluster's metadata, without which moved copies would be useless.
func TestEvacuationOfTheOnlyManagerIsRefused(t *testing.T) {
	c := newFakeCluster(t, 3, "data")
	c.locked(func() { c.nodes["id-0"].roles = []string{"data", "cluster_manager"}; c.reconfigure() })
	c.add("books/0", 0, 1)
	_, last := do(t, mustNew(t, testOptions(c.options(0))), engines.Order{Kind: engines.Evacuate, Claim: "c1"})
	require.Equal(t, engines.Progress{State: engines.ProgressRefused, Detail: "no other manager can take over from db-0"}, last)
	require.Empty(t, c.leftovers())
	_, last = do(t, mustNew(t, testOptions(c.options(0))), handoffOf("c2"))
	require.Equal(t, engines.ProgressDone, last.State, "its data stays")
}
