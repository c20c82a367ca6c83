package topology

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// While a group is adopted, its members without an agent are what the group says that they are.
func TestAdoptedGroup(t *testing.T) {
	adopted := func(primary, other string) View {
		v := inGroup(healthy(), primary, other, replication.MemberOnline)
		v.Others = nil
		return v
	}
	o := Observe(adopted(replication.MemberOnline, replication.MemberOnline))
	require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, o.Health.Reason)
	require.True(t, o.Settled)
	for _, m := range enginetest.Group(t, o, "primary").Members {
		require.Equal(t, m.Node == nodeOf(0), m.Leader, m.Node)
		require.Equal(t, engines.MemberActive, m.State, m.Node)
	}

	o = Observe(adopted(replication.MemberOnline, replication.MemberRecovering))
	require.Equal(t, engines.MemberRecovering, enginetest.States(t, o, "data")[nodeOf(1)])
	o = Observe(adopted(replication.MemberAway, replication.MemberOnline))
	require.Equal(t, engines.MemberDown, enginetest.States(t, o, "data")[nodeOf(0)])
	require.Equal(t, engines.VerdictUnknown, o.Health.Verdict, "nobody was elected")

	v := adopted(replication.MemberOnline, replication.MemberOnline)
	v.Self.State.Group.Quorum = false
	require.Equal(t, engines.VerdictRed, Observe(v).Health.Verdict)

	// An agent that is only unavailable says nothing of its member.
	v = inGroup(healthy(), replication.MemberOnline, replication.MemberOnline, replication.MemberOnline)
	v.Others[1].Known, v.Others[1].Peer.Pod = false, "db-1"
	require.Equal(t, engines.MemberUnknown, enginetest.States(t, Observe(v), "data")[nodeOf(1)])
}
