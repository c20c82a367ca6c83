package coordinator

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

func (db *database) delete(t *testing.T) {
	require.NoError(t, db.w.server.Client(nil).Clusters.DatabaseClusters(namespace).Delete(t.Context(), db.name, metav1.DeleteOptions{}))
}

// Whenever a claim is open the finalizer is there, and it goes soon after the last.
func TestFinalizerWhileAClaimIsOpen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		require.Empty(t, db.object().Finalizers)
		var without atomic.Int32
		w.hangs = func(kubetest.Call) bool { // what the request before this one has left
			if object := db.object(); len(object.Status.Claims) > 0 && len(object.Finalizers) == 0 {
				without.Add(1)
			}
			return false
		}
		db.roll("v2")
		open := 0
		for range 900 {
			time.Sleep(100 * time.Millisecond)
			if object := db.object(); len(object.Status.Claims) > 0 {
				open++
				require.Equal(t, []string{v1alpha1.Finalizer}, object.Finalizers)
			}
		}
		require.Positive(t, open)
		require.Zero(t, without.Load())
		db.requireDone(time.Minute, "v2")
		require.Empty(t, db.object().Finalizers)
	})
}

// A DatabaseCluster can be deleted at any moment: nothing else goes, what was drained is undone,
// and then the object is gone.
func TestDeletionInMidRollout(t *testing.T) {
	race.Heavy(t)
	for after := 200 * time.Millisecond; after < 12*time.Second; after += 600 * time.Millisecond {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				db.roll("v2")
				time.Sleep(after)
				db.delete(t)
				time.Sleep(time.Second) // an eviction that was sent may arrive
				removals := w.gone()
				time.Sleep(undoFor + 10*time.Second)
				require.Nil(t, db.object())
				require.Equal(t, removals, w.gone())
				require.Empty(t, db.left())
				require.Zero(t, db.unavailable())
			})
		})
	}
}

// Agents that do not answer hold a deletion up for a minute, whether they are to drain or to undo.
func TestDeletionDoesNotHang(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		t.Run(fmt.Sprint("something is drained ", prepared), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				db.hang(!prepared)
				db.roll("v2")
				if prepared {
					for len(db.left()) == 0 {
						time.Sleep(time.Millisecond)
					}
					db.hang(true)
				}
				time.Sleep(5 * time.Second)
				require.Len(t, db.status().Claims, 1)
				removals := w.gone()
				db.delete(t)
				require.NotNil(t, db.object())
				if prepared {
					time.Sleep(undoFor - 5*time.Second)
					require.NotNil(t, db.object(), "an agent may answer yet")
				}
				time.Sleep(undoFor + 15*time.Second)
				require.Nil(t, db.object())
				require.Equal(t, removals, w.gone())
			})
		})
	}
}

// Nobody who deletes a namespace waits for Rollcall: no pod is left that
// anything could be undone for.
func TestUndoExpires(t *testing.T) {
	now := time.Now()
	c := &v1alpha1.DatabaseCluster{}
	require.False(t, undoExpired(now, c, 0))
	c.DeletionTimestamp = new(metav1.NewTime(now.Add(-undoFor + time.Second)))
	require.False(t, undoExpired(now, c, 3))
	require.True(t, undoExpired(now, c, 0))
	require.True(t, undoExpired(now.Add(time.Second), c, 3))
}

// A database is taken out of Rollcall in mid rollout: its StatefulSet loses the label and the
// DatabaseCluster is deleted (as when a chart that has both is rolled back). Its pods run on.
func TestDeletedWhileTheStatefulSetIsNotShown(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		t.Run(fmt.Sprint("label removed ", hidden), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				db.allocation = "all"
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				db.roll("v2")
				for range 100 { // until something is drained
					if time.Sleep(20 * time.Millisecond); len(db.left()) > 0 && db.unavailable() == 1 {
						break
					}
				}
				require.NotEmpty(t, db.left())
				if hidden {
					sets := w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
					set, err := sets.Get(t.Context(), "search", metav1.GetOptions{})
					require.NoError(t, err)
					delete(set.Labels, v1alpha1.LabelCluster)
					_, err = sets.Update(t.Context(), set, metav1.UpdateOptions{})
					require.NoError(t, err)
				}
				db.delete(t)
				deleted := time.Now()
				for db.object() != nil && time.Since(deleted) < 5*time.Minute {
					time.Sleep(100 * time.Millisecond)
				}
				require.Less(t, time.Since(deleted), undoFor)
				time.Sleep(time.Minute)
				require.Empty(t, db.left())
				require.Equal(t, "all", db.allocation)
				require.Nil(t, db.object())
			})
		})
	}
}

// The StatefulSet is deleted without its pods, and then the DatabaseCluster: what is drained in
// them cannot be undone, and is waited for as with agents that do not answer. When the pods go,
// too, nothing is waited for.
func TestDeletedWithPodsThatNobodyOwns(t *testing.T) {
	for _, stay := range []bool{true, false} {
		t.Run(fmt.Sprint("pods stay ", stay), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				db.roll("v2")
				for range 100 {
					if time.Sleep(20 * time.Millisecond); len(db.status().Claims) > 0 {
						break
					}
				}
				require.NotEmpty(t, db.status().Claims)
				orphan := metav1.DeletePropagationOrphan
				require.NoError(t, w.admin.Kubernetes.AppsV1().StatefulSets(namespace).Delete(t.Context(), "search", metav1.DeleteOptions{PropagationPolicy: &orphan}))
				db.delete(t)
				time.Sleep(undoFor / 2)
				require.NotNil(t, db.object())
				require.NotEmpty(t, db.status().Claims)
				if !stay {
					pods := w.admin.Kubernetes.CoreV1().Pods(namespace)
					list, err := pods.List(t.Context(), metav1.ListOptions{})
					require.NoError(t, err)
					for i := range list.Items {
						w.server.EndPod(namespace, list.Items[i].Name, list.Items[i].UID)
					}
					time.Sleep(2 * time.Second)
					require.Nil(t, db.object())
				}
				time.Sleep(undoFor)
				require.Nil(t, db.object())
			})
		})
	}
}

// So it is when another of its StatefulSets, which is shown, has a name with which that of the first begins.
func TestDeletedWhileOneOfItsStatefulSetsIsNotShown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPools("search", model.Solr, false, &pool{name: "search", replicas: 2, rank: 60}, &pool{name: "search-hot", replicas: 2, rank: 50})
		db.allocation = "all"
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		for range 100 { // until something is drained
			if time.Sleep(20 * time.Millisecond); len(db.left()) > 0 && db.unavailable() == 1 {
				break
			}
		}
		require.NotEmpty(t, db.left())
		require.Contains(t, db.status().Claims[0].Pod, "search-hot-")
		sets := w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
		set, err := sets.Get(t.Context(), "search-hot", metav1.GetOptions{})
		require.NoError(t, err)
		delete(set.Labels, v1alpha1.LabelCluster)
		_, err = sets.Update(t.Context(), set, metav1.UpdateOptions{})
		require.NoError(t, err)
		db.delete(t)
		deleted := time.Now()
		for db.object() != nil && time.Since(deleted) < 5*time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		require.Less(t, time.Since(deleted), undoFor)
		time.Sleep(time.Minute)
		require.Empty(t, db.left())
		require.Equal(t, "all", db.allocation)
	})
}
