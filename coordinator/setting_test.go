package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const settingName = "allocation"

// A setting of the whole database is changed for each restart, put back after the
// last, and costs two writes at most; an agent that knows of none is asked for
// nothing that it cannot do.
func TestClusterSettingIsRestored(t *testing.T) {
	for _, old := range []string{"", "search-0"} {
		inWorld(t, func(t *testing.T, w *world) {
			db := w.add("search", 3)
			db.allocation, db.old = "all", old
			p := w.start()
			defer p.end()
			time.Sleep(20 * time.Second)
			before := p.total()
			db.roll("v2")
			db.requireDone(3*time.Minute, "v2")
			time.Sleep(10 * time.Second)
			require.Equal(t, "all", db.allocation)
			require.GreaterOrEqual(t, db.writes, 2)
			require.Empty(t, db.status().ClusterSettings)
			require.Empty(t, db.object().Finalizers)
			require.LessOrEqual(t, p.total()-before, (5+2)*3+3, "%v", p.writes)
		})
	}
}

// Whenever a DatabaseCluster is deleted, the setting is put back before it goes.
func TestClusterSettingOfADeletedDatabase(t *testing.T) {
	for after := 200 * time.Millisecond; after < 12*time.Second; after += 1200 * time.Millisecond {
		inWorld(t, func(t *testing.T, w *world) {
			db := w.add("search", 3)
			db.allocation = "all"
			p := w.start()
			defer p.end()
			time.Sleep(20 * time.Second)
			db.roll("v2")
			time.Sleep(after)
			db.delete(t)
			time.Sleep(undoFor + 10*time.Second)
			require.Nil(t, db.object())
			require.Equal(t, "all", db.allocation, "deleted after %s", after)
		})
	}
}
