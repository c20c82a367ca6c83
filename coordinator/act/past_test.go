package act

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// The line goes down past pods that are up to date. One that was taken since, below the partition,
// came back on the old revision: only the partition keeps the controller from it.
func TestPartitionIsLoweredPastExistingPodsOnly(t *testing.T) {
	inRollingWorld(t, model.RollingUpdateByPartition, false, func(t *testing.T, w *world) {
		w.patchPod("s-2", `{"metadata":{"labels":{"`+revision+`":"v2"}}}`)
		time.Sleep(time.Second)
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		cluster, _ := w.server.Cluster(namespace, name)
		seen, versions := w.snapshot(cluster), w.versions() // the cache shows this for a while
		seen.Pods[0].Report.Busy, seen.Pods[1].Report.Busy = "backup", "backup"
		require.Equal(t, int32(2), policy.Decide(seen).Lines[0].Partition)

		require.NoError(t, w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Delete(t.Context(), "s-2", metav1.DeleteOptions{})) // a node is drained
		time.Sleep(15 * time.Second)
		object, ok := w.server.Pod(namespace, "s-2")
		require.True(t, ok)
		require.Equal(t, "v1", object.Labels[revision])
		gone := w.total()

		seen.Now = model.At(time.Now())
		_, leads := p.advance(cluster, seen, versions)
		require.True(t, leads)
		time.Sleep(5 * time.Second)
		p.kill()
		p.leader.Wait()
		require.Equal(t, model.FirstOrdinalNone, partitionIn(w.set.get()))
		require.Equal(t, gone, w.total(), "its controller took s-2 without a claim")
	})
}
