package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDelayedReplicaHoldsNoHandover: where it never acknowledges, that it would not is
// no reason to keep the role.
func TestDelayedReplicaHoldsNoHandover(t *testing.T) {
	v := seen()
	v.others[1].state.Source.Delay, v.others[1].state.SemiSync = time.Hour, SemiSync{}
	a := next(v)
	require.Equal(t, start, a.deed, a.words)
	v.others[1].state.SemiSync.Replica = true
	require.Equal(t, start, next(v).deed, "it acknowledges")
	v.others[1].state.Source.Receiving = false
	require.Equal(t, wait, next(v).deed, "it would, and cannot")
}
