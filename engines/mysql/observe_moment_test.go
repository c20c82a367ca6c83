package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// TestMemberMissingFromOneStatus: the primary does not list a replica, which may be
// connecting anew. Its own server answers, so it is a member.
func TestMemberMissingFromOneStatus(t *testing.T) {
	v := healthy()
	v.others[0].state.Replicas, v.others[0].state.SemiSync.Clients = v.others[0].state.Replicas[:1], 1
	o := observation(v)
	require.Equal(t, engines.Live, o.Member)
	for _, n := range o.Nodes {
		require.Equal(t, engines.Live, n.State, n.Name)
	}
	require.Equal(t, engines.Active, enginetest.States(t, o, "data")[nodeOf(2)])
}
