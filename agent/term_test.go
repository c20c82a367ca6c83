package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/state"
)

// TestRestartedAgentIsALaterRun checks that a restarted agent is a later run than the one before.
func TestRestartedAgentIsALaterRun(t *testing.T) {
	dir := t.TempDir()
	future := time.Now().Add(time.Hour)
	_, err := state.Store{Dir: dir, PodUID: "uid-0"}.NextRun(future)
	require.NoError(t, err)
	r := newRing(t, nil)
	m := r.start(0, func(o *Options) { o.StateDir = dir })
	require.EqualValues(t, future.UnixNano()+1, m.agent.board.Run.Incarnation)
	require.Equal(t, m.agent.board.Run.Incarnation, m.agent.identity().Incarnation-1, "each is another")
}
