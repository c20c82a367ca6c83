package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
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
		db.requireDone(time.Minute, "v2")
		require.Empty(t, db.object().Finalizers)
	})
}

// A DatabaseCluster can be deleted at any moment: nothing else goes, what was
// prepared is undone, and then the object is gone.
func TestDeletionInMidRollout(t *testing.T) {
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
				require.Zero(t, db.away())
			})
		})
	}
}

// Agents that do not answer hold a deletion up for a minute.
func TestDeletionDoesNotHang(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.hang(true)
		db.roll("v2")
		time.Sleep(5 * time.Second)
		require.Len(t, db.status().Claims, 1)
		db.delete(t)
		require.NotNil(t, db.object())
		time.Sleep(undoFor + 15*time.Second)
		require.Nil(t, db.object())
		require.Empty(t, w.gone())
	})
}

// Nobody who deletes a namespace waits for Rollcall: no pod is left that
// anything could be undone for.
func TestForsaken(t *testing.T) {
	now := time.Now()
	c := &v1alpha1.DatabaseCluster{}
	require.False(t, forsaken(now, c, 0))
	c.DeletionTimestamp = new(metav1.NewTime(now.Add(-undoFor + time.Second)))
	require.False(t, forsaken(now, c, 3))
	require.True(t, forsaken(now, c, 0))
	require.True(t, forsaken(now.Add(time.Second), c, 3))
}
