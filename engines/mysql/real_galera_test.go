package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestRealMemberOfGalera: a member of Galera is refused with the engine to set, and nothing is done to
// it.
func TestRealMemberOfGalera(t *testing.T) {
	const words = "the server is a member of a Galera Cluster: set spec.engine to Galera"
	g := mysqltest.StartGalera(t, mysqltest.GaleraOptions{Members: 1})
	for _, flavor := range []replication.Flavor{replication.MariaDB, ""} {
		options := realOptions(g.Members[0])
		options.Flavor = flavor
		e, err := New(options)
		require.NoError(t, err)
		defer e.Close()
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.Health{Reason: words}, o.Health)
		require.Empty(t, o.Groups)
		_, err = e.PlanDrain(t.Context(), engines.Order{Kind: engines.Handoff, Claim: "c", NotAfter: time.Now().Add(time.Minute)})
		require.ErrorContains(t, err, words)
		_, err = e.Repair(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, "0", g.Members[0].Value("SELECT @@read_only"))
}
