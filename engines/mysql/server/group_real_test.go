package server

import (
	"testing"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/stretchr/testify/require"
)

// TestRealGroup checks that group replication is observed correctly, and elects the member that it
// is asked to elect.
func TestRealGroup(t *testing.T) {
	servers := mysqltest.StartGroup(t, 2)
	agents := []*Server{agentAt(t, servers[0]), agentAt(t, servers[1])}
	first, second := lookAt(t, agents[0]), lookAt(t, agents[1])
	require.Equal(t, replication.Allowed, first.Writes)
	require.NotEqual(t, replication.Allowed, second.Writes)
	require.True(t, first.Group.Primary && first.Group.Quorum && second.Group.Quorum)
	require.Nil(t, second.Source, "its channels are the group's own")
	require.False(t, first.StartsWritable)

	servers[1].AwaitExecuted(servers[0])
	require.NoError(t, agents[0].ElectPrimary(t.Context(), second.ID))
	first, second = lookAt(t, agents[0]), lookAt(t, agents[1])
	require.Equal(t, replication.Allowed, second.Writes)
	require.NotEqual(t, replication.Allowed, first.Writes)
	require.Error(t, agents[0].ElectPrimary(t.Context(), "nobody"))
}
