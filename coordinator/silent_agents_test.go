package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod comes back broken, and the port of its agent refuses, as when the image of the agent cannot
// be pulled either. What was drained is undone by another pod's agent, which is well, and a
// correction gets through.
func TestASuccessorWhoseAgentDoesNotAnswerIsUndoneByOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		w.mu.Lock()
		db.broken["v2"], w.deaf = true, map[string]bool{"v2": true}
		w.mu.Unlock()
		db.roll("v2")
		time.Sleep(10 * time.Minute)
		require.Equal(t, []string{"search-2 v1"}, w.gone())
		require.Empty(t, db.left(), "left behind")
		db.roll("v3")
		time.Sleep(10 * time.Minute)
		require.Equal(t, model.ClusterDone, db.status().Phase)
	})
}
