package coordinator

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// inWorld runs f in virtual time.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		f(t, w)
	})
}

func TestRollsOutThreePods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		require.Equal(t, model.ClusterDone, db.status().Phase)
		require.True(t, isTrue(db.status(), v1alpha1.ConditionInitialized))
		before, lists := p.total(), p.listed()
		db.roll("v2")
		db.requireDone(3*time.Minute, "v2")
		require.Equal(t, []string{"search-2 v1", "search-1 v1", "search-0 v1"}, w.gone())
		require.Equal(t, 2*3, p.listed()-lists, "before each removal its StatefulSet and its pods")
		s := db.status()
		require.Equal(t, map[string]string{"search": "v2"}, s.UpdateRevisions)
		require.Equal(t, []v1alpha1.FinishedRollout{{Pool: "search", Revision: "v2", Version: "9.9.0"}}, s.LastFinished)
		require.InDelta(t, 8, s.EstimateSeconds, 1)
		require.Equal(t, map[string]int64{"search": s.EstimateSeconds}, s.PoolEstimateSeconds)
		// One more because nothing was known at first, and two for the finalizer.
		require.LessOrEqual(t, p.total()-before, 5*3+3, "%v", p.writes)
		time.Sleep(10 * time.Second)
		require.Empty(t, db.object().Finalizers)
	})
}

// An idle database costs nothing: no writes, and nothing that its status says
// turns into its opposite because its agents are asked less.
func TestIdleClusterWritesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(5 * time.Minute)
		before, version := p.total(), db.version()
		streams := func() (now, most int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			now, most, w.mostWatching = w.watching, w.mostWatching, 0
			return now, most
		}
		open, _ := streams()
		require.Zero(t, open)
		time.Sleep(time.Hour)
		_, opened := streams()
		require.Zero(t, opened, "report streams")
		require.Equal(t, before, p.total(), "%v", p.writes)
		require.Equal(t, version, db.version())
		require.Equal(t, model.ClusterDone, db.status().Phase)
		require.True(t, isTrue(db.status(), v1alpha1.ConditionAvailable))
	})
}

// What agents say again is no reason to decide again; what they say again is one at once.
func TestDecidesWhenSomethingIsNew(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(25 * time.Second)
		decided := func() status.Decision {
			d, ok := p.board.Newest(Key{Namespace: namespace, Name: "search"})
			require.True(t, ok)
			return d
		}
		decisions := map[time.Time]bool{}
		for range 200 { // in which three agents report six times each
			time.Sleep(100 * time.Millisecond)
			decisions[decided().DecidedAt] = true
			for _, pod := range decided().Snapshot.Pods {
				require.True(t, pod.Report.Fresh)
			}
		}
		require.LessOrEqual(t, len(decisions), 4)
		w.mu.Lock()
		db.members["search-1"].live = false
		db.told()
		w.mu.Unlock()
		time.Sleep(200 * time.Millisecond)
		require.Equal(t, model.MembershipNotLive, decided().Snapshot.Pods[1].Report.Member)
	})
}

func TestSuccessorFinishesWhatWasBegun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		first := w.start()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(4 * time.Second) // the first pod is on its way
		require.Len(t, db.status().Claims, 1)
		first.end()
		time.Sleep(10 * time.Second)
		second := w.start()
		defer second.end()
		db.requireDone(3*time.Minute, "v2")
		require.Len(t, w.gone(), 3)
		require.EqualValues(t, 2, db.status().Epoch)
	})
}

// Two coordinators that both believe to lead: nothing goes twice, never are
// two pods away, and the rollout ends.
func TestTwoLeadersAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		first := w.start()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(time.Second)
		second := w.start()
		most := 0
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			most = max(most, db.unavailable())
		}
		first.end()
		defer second.end()
		db.requireDone(3*time.Minute, "v2")
		require.Len(t, w.gone(), 3)
		require.LessOrEqual(t, most, 1)
	})
}

func TestBrokenRevisionHaltsTheRolloutUntilCorrected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.w.mu.Lock()
		db.broken["v2"] = true
		db.w.mu.Unlock()
		db.roll("v2")
		time.Sleep(time.Minute)
		before := p.decided.Load()
		time.Sleep(4 * time.Minute)
		require.Less(t, p.decided.Load()-before, int64(4*60*5), "passes that nothing asked for")
		require.Equal(t, []string{"search-2 v1"}, w.gone())
		require.True(t, slices.ContainsFunc(db.status().Holds, func(h model.Hold) bool { return h.Rule == model.RuleRolloutHalted }), "%+v", db.status().Holds)

		db.roll("v3")
		db.requireDone(3*time.Minute, "v3")
		require.Equal(t, []string{"search-2 v1", "search-2 v2", "search-1 v1", "search-0 v1"}, w.gone())
	})
}

func TestPauseInTheMiddleOfARollout(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(4 * time.Second)
		db.annotate(v1alpha1.AnnotationPaused, "true")
		time.Sleep(2 * time.Minute)
		require.Len(t, w.gone(), 1, "the pod that had gone is followed to its end")
		require.Empty(t, db.status().Claims)
		require.Equal(t, model.ClusterPaused, db.status().Phase)
		db.annotate(v1alpha1.AnnotationPaused, "")
		db.requireDone(3*time.Minute, "v2")
	})
}

// A database whose agents hang holds up no other.
func TestHungAgentsOfOneClusterHoldUpNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		sick, well := w.add("sick", 3), w.add("well", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		sick.hang(true)
		sick.roll("v2")
		well.roll("v2")
		well.requireDone(time.Minute, "v2")
		require.Len(t, sick.status().Claims, 1)
		time.Sleep(15 * time.Minute)
		require.Equal(t, model.ClusterStalled, sick.status().Phase)
		require.True(t, isTrue(sick.status(), v1alpha1.ConditionStalled))

		sick.hang(false)
		sick.requireDone(5*time.Minute, "v2")
	})
}

// A pod that somebody else takes away in the middle: the plan holds until it is back.
func TestForeignRemovalIsWaitedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		require.NoError(t, w.admin.Kubernetes.CoreV1().Pods(namespace).Delete(t.Context(), "search-0", metav1.DeleteOptions{}))
		db.roll("v2")
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"search-0 v1"}, w.gone())
		decision, ok := p.board.Newest(Key{Namespace: namespace, Name: "search"})
		require.True(t, ok)
		require.Contains(t, decision.Plan.Text(), "pod-budget")
		db.requireDone(3*time.Minute, "v2")
		require.Len(t, w.gone(), 3)
	})
}

// Rollcall comes to a database that runs without agents: its pods are restarted
// one by one after a person has agreed, and each comes back with one.
func TestAdoption(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addWith("search", 3, true)
		p := w.start()
		defer p.end()
		db.rollWithAgents("v2")
		time.Sleep(2 * time.Minute)
		require.Empty(t, w.gone())
		require.True(t, slices.ContainsFunc(db.status().Holds, func(h model.Hold) bool { return h.Rule == model.RuleApproval }), "%+v", db.status().Holds)

		db.approveAdoption()
		most := 0
		for range 3000 {
			time.Sleep(100 * time.Millisecond)
			most = max(most, db.unavailable())
		}
		db.requireDone(time.Minute, "v2")
		require.Len(t, w.gone(), 3)
		require.LessOrEqual(t, most, 1)
	})
}

func TestSessionEndsWithItsDatabaseCluster(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		clusters := w.admin.Clusters.DatabaseClusters(namespace)
		old, err := clusters.Get(t.Context(), "search", metav1.GetOptions{})
		require.NoError(t, err)
		require.NoError(t, clusters.Delete(t.Context(), "search", metav1.DeleteOptions{}))
		time.Sleep(10 * time.Second)
		_, ok := p.board.Newest(Key{Namespace: namespace, Name: "search"})
		require.False(t, ok)

		// It comes back under another UID; its agents belong to the new one.
		again := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "search", Generation: 1}, Spec: old.Spec}
		made, err := clusters.Create(t.Context(), again, metav1.CreateOptions{})
		require.NoError(t, err)
		w.mu.Lock()
		db.uid = string(made.UID)
		w.mu.Unlock()
		db.roll("v2")
		db.requireDone(3*time.Minute, "v2")
	})
}

func isTrue(s v1alpha1.Status, kind string) bool {
	return conditionOf(s, kind).Status == metav1.ConditionTrue
}

func (db *database) version() string {
	cluster, _ := db.w.server.Cluster(namespace, db.name)
	return cluster.ResourceVersion
}

// requireDone waits until all pods run the revision, are back, and nothing is left.
func (db *database) requireDone(limit time.Duration, revision string) {
	db.w.t.Helper()
	var s v1alpha1.Status
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		s = db.status()
		if s.Phase == model.ClusterDone && db.wants(s, revision) && len(s.Claims) == 0 && int(s.Pods.Updated) == db.replicas {
			break
		}
	}
	require.Equal(db.w.t, model.ClusterDone, s.Phase, "%+v", s)
	require.Empty(db.w.t, s.Claims)
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	require.Empty(db.w.t, db.applied, "left behind in the database")
	for _, m := range db.members {
		require.Equal(db.w.t, revision, m.revision)
	}
}

// wants reports whether the status has the revision for every pool.
func (db *database) wants(s v1alpha1.Status, revision string) bool {
	return !slices.ContainsFunc(db.pools, func(p *pool) bool { return s.UpdateRevisions[p.name] != revision })
}

// unavailable counts the pods that are not live members.
func (db *database) unavailable() int {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	away := db.replicas
	for _, m := range db.members {
		if m.live && !m.stopping {
			away--
		}
	}
	return away
}

func (db *database) annotate(key, value string) {
	db.edit(func(c *v1alpha1.DatabaseCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[key] = value
	})
}

// edit changes the DatabaseCluster, as a person would.
func (db *database) edit(change func(*v1alpha1.DatabaseCluster)) {
	clusters := db.w.admin.Clusters.DatabaseClusters(namespace)
	for {
		c, err := clusters.Get(context.Background(), db.name, metav1.GetOptions{})
		require.NoError(db.w.t, err)
		change(c)
		_, err = clusters.Update(context.Background(), c, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			continue
		}
		require.NoError(db.w.t, err)
		return
	}
}
