package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestObserveNeverActs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Mode = model.ModeObserve })
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(5 * time.Minute)
		require.Empty(t, w.gone())
		require.Empty(t, db.status().Claims)
		require.Zero(t, p.writes["patch pods"])
		require.True(t, slices.ContainsFunc(db.status().Holds, func(h model.Hold) bool { return h.Rule == model.RuleObserveOnly }))
	})
}

// Nor does it when a pod is broken, nor where a partition or a guard would be its own.
func TestObserveWritesNothingButStatus(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		broken, byLine := w.add("search", 3), w.add("books", 3)
		byLine.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.RollingUpdate = model.RollingUpdateByPartition })
		byLine.becomeRollingUpdate(3)
		for _, db := range []*database{broken, byLine} {
			db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Mode = model.ModeObserve })
		}
		p := w.start()
		defer p.end()
		time.Sleep(time.Minute)
		require.True(t, isTrue(byLine.status(), v1alpha1.ConditionInitialized))
		broken.roll("v2")
		byLine.roll("v2")
		broken.strand("search-1")
		time.Sleep(15 * time.Minute)
		require.Empty(t, w.gone())
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.writes, "update databaseclusters/status")
		require.Empty(t, p.writes)
	})
}
