package galera

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestOutage checks what is said while no member is in a primary component. One whose agent does
// not know may be in one.
func TestOutage(t *testing.T) {
	lost := func(s []State) {
		for i := range s {
			s[i].Primary, s[i].Ready = false, false
		}
		s[1].Committed = 1001
	}
	o := Observe(healthy(3, lost))
	require.Equal(t, engines.Health{Verdict: engines.VerdictRed, Reason: "no member is in a primary component; of those that answer, db-1 has the highest sequence number, 1001"}, o.Health)
	require.Equal(t, engines.MembershipUnknown, o.Member)

	o = Observe(healthy(3, func(s []State) { lost(s); s[2] = down("db-2") }))
	require.Equal(t, engines.VerdictRed, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "; the server does not run on db-2: compare seqno and safe_to_bootstrap in grastate.dat, or what --wsrep-recover prints")

	o = Observe(healthy(3, func(s []State) {
		for i := range s {
			s[i] = down(s[i].Node)
		}
	}))
	require.Equal(t, engines.MembershipNotLive, o.Member)
	require.Equal(t, engines.VerdictRed, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "the server does not run on db-0, db-1, db-2")

	v := healthy(3, lost)
	v.Others[0] = Member{Peer: v.Others[0].Peer, Why: "its agent is unavailable"}
	require.Equal(t, engines.VerdictYellow, Observe(v).Health.Verdict)
	require.Equal(t, engines.VerdictUnknown, Observe(healthy(3, func(s []State) { s[0] = down("db-0") })).Health.Verdict, "another one is in a primary component")
}

// TestFullTransferIsForetold checks that it is said when a member that is gone needs more than the
// others have kept.
func TestFullTransferIsForetold(t *testing.T) {
	left := healthy(3, func(s []State) { without(s, 2); s[2] = down("db-2") })
	for committed, want := range map[int64]string{
		98: "not in the primary component: db-2 (a full state transfer follows: the others have the write sets from 100 on, and it needs those from 99 on)",
		99: "not in the primary component: db-2", -1: "not in the primary component: db-2",
	} {
		left.Before["db-2"] = Past{Weight: 1, Committed: committed}
		require.Equal(t, want, Observe(left).Health.Reason)
	}
}
