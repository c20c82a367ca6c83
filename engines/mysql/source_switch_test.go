package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReplicaOfAnotherDatabase: all follow a server of another database, which is
// called as one of these is. Nobody opens here, whether it can be reached or not.
func TestReplicaOfAnotherDatabase(t *testing.T) {
	for _, receiving := range []bool{true, false} {
		v := vacancy()
		lag := time.Duration(0)
		v.self.state.Source = &Source{Host: "db-0.db.elsewhere", Port: 3306, ID: serverID(9), Receiving: receiving, Applying: true, Started: true, Lag: &lag}
		v.others[0].state.Source.ID, v.others[1].state.Source.ID = serverID(0), serverID(0)
		a := tended(v)
		require.Equal(t, done, a.deed, a.words)
		require.Contains(t, a.words, "db-0 follows db-0.db.elsewhere")
	}
}

// TestNewSourceIsNotReachedYet: a server tells the ID of the source before, until it
// has reached the one that it was told to follow. That is waited for.
func TestNewSourceIsNotReachedYet(t *testing.T) {
	v := vacancy()
	v.others[0].state.Source.ID, v.others[0].state.Source.Receiving = v.others[1].state.ID, false
	a := tended(v)
	require.Equal(t, wait, a.deed, a.words)
	require.Contains(t, a.words, "db-1 was told to follow db-0 and has not reached it yet")
	v.others[0].state.Source.ID, v.others[0].state.Source.Receiving = v.self.state.ID, true
	require.Equal(t, open, tended(v).deed)
}
