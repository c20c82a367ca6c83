package topology

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// A server that allows writes says so even where another does, too: then nobody knows which is the
// primary, and neither is none.
func TestTwoWritersSaySo(t *testing.T) {
	for role, v := range map[string]View{primaryRole: fromPrimary(), replicaRole: healthy()} {
		require.Equal(t, []string{role}, Observe(v).Roles)
		v.Self.State.Writes = replication.Allowed
		for i := range v.Others {
			v.Others[i].State.Writes = replication.Allowed
		}
		require.Equal(t, []string{primaryRole}, Observe(v).Roles)
	}
}
