package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A change that is rolled out by replacement: each pod is emptied first, one at a
// time, and what keeps data away from it is gone at the end.
func TestRollsOutByReplacement(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Replacement.UpdateStrategy = model.UpdateReplace })
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		db.requireDone(3*time.Minute, "v2")
		require.Equal(t, []string{"search-2 v1", "search-1 v1", "search-0 v1"}, w.gone())
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Empty(t, db.excluded)
	})
}

// A node selector that changed is brought by a replacement where the engine's pods are
// replaced for it, and by a restart elsewhere.
func TestAnotherNodeSelectorReplaces(t *testing.T) {
	for engine, action := range map[model.Engine]model.Action{model.FoundationDB: model.ActionReplace, model.Solr: model.ActionRestart} {
		t.Run(string(engine), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.addPools("db", engine, false, &pool{name: "db", replicas: 3, update: "v1"})
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				sets := w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
				set, err := sets.Get(t.Context(), "db", metav1.GetOptions{})
				require.NoError(t, err)
				set.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "nvme"}
				_, err = sets.Update(t.Context(), set, metav1.UpdateOptions{})
				require.NoError(t, err)
				db.roll("v2")
				for deadline := time.Now().Add(time.Minute); len(db.status().Claims) == 0; time.Sleep(time.Second) {
					require.True(t, time.Now().Before(deadline), "nobody is claimed")
				}
				require.Equal(t, action, db.status().Claims[0].Action)
			})
		})
	}
}

// A person marks a pod: it is replaced, and no other; the mark goes with it.
func TestReplacesAMarkedPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		pods := w.admin.Kubernetes.CoreV1().Pods(namespace)
		_, err := pods.Patch(t.Context(), "search-1", types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"rollcall.dev/replace":"2026-11-20T12:00:00Z"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []string{"search-1 v1"}, w.gone())
		require.Empty(t, db.status().Claims)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Empty(t, db.excluded)
	})
}

// A pod that finds no node has no agent: another one empties it, when it has been
// pending for its time since it was made.
func TestReplacesAStrandedPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPools("fdb", model.FoundationDB, false, &pool{name: "fdb", replicas: 3, update: "v1"})
		db.edit(func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Replacement.Enabled, c.Spec.Replacement.FailureDetectionSeconds = true, 120
		})
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.strand("fdb-1")
		time.Sleep(95 * time.Second)
		require.Empty(t, w.gone(), "too early")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"fdb-1 v1"}, w.gone())
		require.Empty(t, db.status().Claims)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Empty(t, db.excluded)
	})
}

// What is wrong with a pod is written down once it has lasted, so that a new leader does not begin
// to count again; it is forgotten when it is over.
func TestConditionsSurviveALeader(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.edit(func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Replacement.Enabled = true
			c.Spec.Policy.StartSeconds = 7200 // or it would be restarted
		})
		p := w.start()
		time.Sleep(20 * time.Second)
		began := time.Now()
		db.live("search-1", false)
		time.Sleep(30 * time.Second)
		require.Empty(t, db.status().PodConditions, "most of what is wrong belongs to a restart")
		time.Sleep(2 * time.Minute)
		noted := func() v1alpha1.PodCondition {
			at := slices.IndexFunc(db.status().PodConditions, func(c v1alpha1.PodCondition) bool { return c.Type == model.ConditionMissingProcesses })
			require.GreaterOrEqual(t, at, 0, "%v", db.status().PodConditions)
			return db.status().PodConditions[at]
		}
		first := noted()
		require.Equal(t, "search-1", first.Pod)
		require.WithinDuration(t, began, first.Since.Time, 10*time.Second)
		p.end()

		p = w.start()
		defer p.end()
		time.Sleep(3 * time.Minute)
		require.Equal(t, first, noted())
		db.live("search-1", true)
		time.Sleep(2 * time.Minute)
		require.Empty(t, db.status().PodConditions)
		require.Empty(t, w.gone())
	})
}

// live has the database take a pod for a member, or not.
func (db *database) live(pod string, live bool) {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	db.members[pod].live = live
	db.told()
}
