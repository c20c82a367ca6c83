package switchover

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// ring is db-0, which follows its replica db-1.
func ring() Input {
	v := seen()
	follows := *v.Others[0].State.Source
	follows.Host = "db-1.db.ns.svc"
	v.Self.State.Source = &follows
	v.Self.Peer = engines.Peer{Pod: "db-0", Node: "db-0", Alive: true}
	return v
}

// TestRing checks that servers that follow each other stay as somebody has made them: none of them is
// made read-only, opened or detached, and none restarts in place as if it were a mere replica.
func TestRing(t *testing.T) {
	v := ring()
	require.Equal(t, Refused, Next(v).Kind)
	require.Equal(t, Done, Repair(v).Kind)
	v.Primary, v.Asked = engines.RestartInPlace, engines.RestartInPlace
	a := Next(v)
	require.Equal(t, Wait, a.Kind, a.Reason)
	require.Contains(t, a.Reason, "db-0 takes writes and follows a server that follows it")
	v.Undoing = true
	require.Equal(t, Done, Next(v).Kind)

	v = ring()
	v.Others[0].State.Writes = replication.Allowed
	a = Repair(v)
	require.Equal(t, Wait, a.Kind, "both of them would refuse writes: %s", a.Reason)
	require.Contains(t, a.Reason, "db-1, db-0 both allow writes")
	v.Self.State.Source.Host = "db-2.db.ns.svc"
	v.Others[1].State.Source.Host = "db-1.db.ns.svc"
	require.Equal(t, Wait, Repair(v).Kind, "a longer ring")

	for _, writes := range []replication.Writes{replication.RefusedBySQL, replication.RefusedAtStart} {
		v = ring()
		v.Self.State.Writes = writes
		a = Repair(v)
		require.Equal(t, Wait, a.Kind, a.Reason)
		require.Contains(t, a.Reason, "nobody allows writes; db-0 follows a server that follows it")
	}
}
