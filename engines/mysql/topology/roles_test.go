package topology

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
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

// TestAPrimaryThatCannotHandOver checks that it is said before anything is tried, and of nobody else.
func TestAPrimaryThatCannotHandOver(t *testing.T) {
	lacking := func(v View, privileges ...string) View {
		v.Self.State.Lacks = privileges
		return v
	}
	require.Empty(t, Observe(lacking(healthy(), "RELOAD")).Veto, "a replica")
	v := lacking(fromPrimary(), "RELOAD", "CONNECTION_ADMIN")
	require.Equal(t, "the account of "+v.Self.Name()+"'s agent needs RELOAD, CONNECTION_ADMIN for a handover", Observe(v).Veto)
	v.External = true
	require.Empty(t, Observe(v).Veto, "another manager hands over")
	v.External, v.Asked = false, engines.RestartInPlace
	require.Empty(t, Observe(v).Veto, "it stays")
	for _, c := range []struct {
		v    View
		held bool
	}{{healthy(), false}, {fromPrimary(), true}} {
		o := Observe(lacking(inGroup(c.v, replication.MemberOnline, replication.MemberOnline, replication.MemberOnline), "GROUP_REPLICATION_ADMIN"))
		require.Equal(t, c.held, o.Veto != "", o.Veto)
	}
}

// A primary that leaves databases out of its log has a veto, and who would do so is not eligible.
func TestServersThatDoNotLogAll(t *testing.T) {
	v := fromPrimary()
	v.Self.State.Unlogged = "it does not log all"
	require.Contains(t, Observe(v).Veto, "cannot hand over its role: it does not log all")
	v.External = true
	require.Empty(t, Observe(v).Veto, "another manager moves it")

	v = fromPrimary()
	v.Others[0].State.Unlogged = "it does not log all"
	o := Observe(v)
	require.Empty(t, o.Veto)
	for _, m := range enginetest.Group(t, o, "primary").Members {
		require.Equal(t, m.Node != v.Others[0].Name(), m.Eligible)
	}
}
