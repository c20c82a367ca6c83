package coordinator

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// threePools are those of a larger OpenSearch: data, then nodes with other
// duties, then managers; listed by name they come in another order.
func (w *world) threePools() *database {
	return w.addPools("logs", model.OpenSearch, false,
		&pool{name: "logs-a-managers", replicas: 3, rank: 70, manages: true},
		&pool{name: "logs-b-coordinating", replicas: 2, rank: 60, empty: true},
		&pool{name: "logs-c-data", replicas: 3, rank: 50})
}

// mostUnavailable watches how many pods are unavailable at once until the rollout is over.
func (db *database) mostUnavailable(limit time.Duration, revision string) int {
	most := 0
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		most = max(most, db.unavailable())
		if s := db.status(); s.Phase == model.ClusterDone && db.wants(s, revision) && int(s.Pods.Updated) == db.replicas {
			break
		}
	}
	return most
}

func finishedRevisions(s v1alpha1.Status) map[string]string {
	out := map[string]string{}
	for _, f := range s.LastFinished {
		out[f.Pool] = f.Revision
	}
	return out
}

// Three StatefulSets are one database: one order, one budget, the elected manager last.
func TestThreePoolsGoInOneOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.threePools()
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		require.Equal(t, model.ClusterDone, db.status().Phase)
		require.Equal(t, map[string]string{"logs-a-managers": "v1", "logs-b-coordinating": "v1", "logs-c-data": "v1"}, finishedRevisions(db.status()))
		elected := db.leader
		require.Equal(t, "logs-a-managers-0", elected)

		db.roll("v2")
		require.Equal(t, 1, db.mostUnavailable(10*time.Minute, "v2"))
		db.requireDone(time.Minute, "v2")
		require.Equal(t, []string{
			"logs-c-data-2 v1", "logs-c-data-1 v1", "logs-c-data-0 v1",
			"logs-b-coordinating-1 v1", "logs-b-coordinating-0 v1",
			"logs-a-managers-2 v1", "logs-a-managers-1 v1", "logs-a-managers-0 v1",
		}, w.gone())
		s := db.status()
		require.Equal(t, model.PodCounts{Desired: 8, Updated: 8, Ready: 8}, s.Pods)
		require.Len(t, s.PoolEstimateSeconds, 3)
		require.Equal(t, map[string]string{"logs-a-managers": "v2", "logs-b-coordinating": "v2", "logs-c-data": "v2"}, s.UpdateRevisions)
		require.Equal(t, s.UpdateRevisions, finishedRevisions(s))
	})
}

// A pool is noted as finished when it is, not when the last of all is: what its
// pods have run last is what a person would go back to.
func TestEachPoolFinishesByItself(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.threePools()
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		seen := []map[string]string{}
		for range 1200 {
			time.Sleep(100 * time.Millisecond)
			f := finishedRevisions(db.status())
			if len(seen) == 0 || !maps.Equal(seen[len(seen)-1], f) {
				seen = append(seen, f)
			}
		}
		db.requireDone(5*time.Minute, "v2")
		require.Equal(t, []map[string]string{
			{"logs-a-managers": "v1", "logs-b-coordinating": "v1", "logs-c-data": "v1"},
			{"logs-a-managers": "v1", "logs-b-coordinating": "v1", "logs-c-data": "v2"},
			{"logs-a-managers": "v1", "logs-b-coordinating": "v2", "logs-c-data": "v2"},
			{"logs-a-managers": "v2", "logs-b-coordinating": "v2", "logs-c-data": "v2"},
		}, seen)
	})
}

// Whoever is unavailable, in whichever pool, the others wait; and what the first pool of the order
// waits for, the others wait for too.
func TestOneBudgetForThreePools(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.threePools()
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		w.mu.Lock()
		db.broken["v2"] = true
		w.mu.Unlock()
		db.rollPool(db.pools[0], "v2") // managers: the others' templates are not changed
		time.Sleep(time.Minute)
		require.Equal(t, []string{"logs-a-managers-2 v1"}, w.gone())

		db.rollPool(db.pools[2], "v3")
		time.Sleep(2 * time.Minute)
		require.Len(t, w.gone(), 1, "a manager is unavailable, so no data pod goes")
		rules := map[model.Rule]bool{}
		for _, h := range db.status().Holds {
			rules[h.Rule] = true
		}
		require.True(t, rules[model.RuleRolloutHalted], "%v", rules)

		db.rollPool(db.pools[0], "v3")
		db.rollPool(db.pools[1], "v3")
		db.requireDone(10*time.Minute, "v3")
		gone := w.gone()
		require.Equal(t, "logs-a-managers-2 v2", gone[1], "the correction gets through before all others")
		require.True(t, slices.Index(gone, "logs-c-data-0 v1") < slices.Index(gone, "logs-a-managers-1 v1"), "%v", gone)
	})
}

// By their partitions: each pool has its own line, and that of the managers rests
// until all that go before them are done.
func TestThreePoolsByPartition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.threePools()
		db.edit(func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Update.RollingUpdate, c.Spec.Guard = model.RollingUpdateByPartition, model.GuardOff
		})
		db.becomeRollingUpdate(0)
		p := w.start()
		defer p.end()
		db.observing(30 * time.Second)
		line, _ := db.partition()
		require.Equal(t, model.FirstOrdinalNone, line, "%+v", db.status())

		db.roll("v2")
		for until := time.Now().Add(10 * time.Minute); len(w.gone()) < 6 && time.Now().Before(until); {
			before := len(w.gone())
			line, _ := db.partition()
			require.True(t, line == model.FirstOrdinalNone || before >= 5, "the managers' line moves last: %v", w.gone())
			db.observing(time.Second)
		}
		db.observing(2 * time.Minute)
		require.Equal(t, []string{
			"logs-c-data-2 v1", "logs-c-data-1 v1", "logs-c-data-0 v1",
			"logs-b-coordinating-1 v1", "logs-b-coordinating-0 v1",
			"logs-a-managers-2 v1", "logs-a-managers-1 v1", "logs-a-managers-0 v1",
		}, w.gone())
		db.observe("v2")
		db.observing(10 * time.Second)
		for _, p := range db.pools {
			require.Equal(t, model.FirstOrdinalNone, *db.set(p).Spec.UpdateStrategy.RollingUpdate.Partition, p.name)
		}
		db.requireDone(time.Minute, "v2")
	})
}
