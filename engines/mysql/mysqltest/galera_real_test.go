package mysqltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRealGalera checks what the helper does to members: incremental and full state transfers, an
// arbitrator, a member that is cut off.
func TestRealGalera(t *testing.T) {
	t.Parallel()
	g := StartGalera(t, GaleraOptions{Members: 3})
	app := g.Table()
	require.NoError(t, Insert(app, 1))

	last := g.Members[2]
	last.Stop()
	require.Contains(t, last.GaleraState(), "safe_to_bootstrap: 0")
	require.NoError(t, Insert(app, 2))
	last.Start()
	g.AwaitSynced()
	require.NotContains(t, last.Log(), "SST complete")

	last.Stop()
	last.ForgetState()
	last.Start()
	g.AwaitSynced()
	require.Equal(t, "2", last.Value("SELECT COUNT(*) FROM app.numbers"))

	arbitrator := g.StartArbitrator("arb")
	g.AwaitSynced(arbitrator)
	require.Equal(t, "4", last.Wsrep("wsrep_cluster_weight"))
	arbitrator.Kill()
	g.AwaitSynced() // while it is in their view, two more that are lost would be a half

	last.Isolate(true)
	require.Eventually(t, func() bool { return last.Wsrep("wsrep_cluster_status") == "non-Primary" }, time.Minute, 50*time.Millisecond)
	require.Error(t, Insert(last.Open(AppUser, AppPassword, "app"), 3))
	last.Isolate(false)
	g.AwaitSynced()
}
