package coordinator

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
)

// Another coordinator takes over after a decision and before its write: nothing of that
// write comes through.
func TestAStatusIsWrittenOnlyToWhatWasDecidedOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		var about atomic.Bool
		w.hangs = func(c kubetest.Call) bool {
			if c.Verb == "update" && c.Resource == "databaseclusters/status" && about.Swap(false) {
				clusters := w.admin.Clusters.DatabaseClusters(namespace)
				cluster, err := clusters.Get(t.Context(), "search", metav1.GetOptions{})
				require.NoError(t, err)
				cluster.Status.Epoch = 100
				_, err = clusters.UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			return false
		}
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		about.Store(true)
		db.roll("v2")
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			if !about.Load() {
				require.GreaterOrEqual(t, db.status().Epoch, int64(100))
			}
		}
		require.False(t, about.Load())
		db.requireDone(3*time.Minute, "v2")
	})
}

// The cache may be behind our own writes.
func TestTheNewerObjectIsDecidedOn(t *testing.T) {
	object := func(uid, version string) *v1alpha1.DatabaseCluster {
		return &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
	}
	for name, c := range map[string]struct {
		ours, cached *v1alpha1.DatabaseCluster
		want         string
	}{
		"nothing was written":        {nil, object("a", "7"), "7"},
		"the cache is behind":        {object("a", "10"), object("a", "9"), "10"},
		"it has ours":                {object("a", "10"), object("a", "10"), "10"},
		"somebody has written since": {object("a", "10"), object("a", "11"), "11"},
		"it is another object":       {object("a", "10"), object("b", "9"), "9"},
	} {
		s := &session{written: written{newest: c.ours}}
		require.Equal(t, c.want, s.later(c.cached).ResourceVersion, name)
	}
}
