package switchover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestReplicaOfAnotherDatabase checks that all follow a server of another database, which is called
// as one of these is. Nobody opens here, whether it can be reached or not.
func TestReplicaOfAnotherDatabase(t *testing.T) {
	for _, receiving := range []bool{true, false} {
		v := vacancy()
		lag := time.Duration(0)
		v.Self.State.Source = &replication.Source{Host: "db-0.db.elsewhere", Port: 3306, ID: serverID(9), Receiving: receiving, Applying: true, Started: true, Lag: &lag}
		v.Others[0].State.Source.ID, v.Others[1].State.Source.ID = serverID(0), serverID(0)
		a := Repair(v)
		require.Equal(t, Done, a.Kind, a.Reason)
		require.Contains(t, a.Reason, "db-0 follows db-0.db.elsewhere")
	}
}

// TestNewSourceIsNotReachedYet checks that a server tells the ID of the source before, until it has
// reached the one that it was told to follow. That is waited for.
func TestNewSourceIsNotReachedYet(t *testing.T) {
	v := vacancy()
	v.Others[0].State.Source.ID, v.Others[0].State.Source.Receiving = v.Others[1].State.ID, false
	a := Repair(v)
	require.Equal(t, Wait, a.Kind, a.Reason)
	require.Contains(t, a.Reason, "db-1 was told to follow db-0 and has not reached it yet")
	v.Others[0].State.Source.ID, v.Others[0].State.Source.Receiving = v.Self.State.ID, true
	require.Equal(t, Open, Repair(v).Kind)
}
