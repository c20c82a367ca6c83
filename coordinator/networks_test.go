package coordinator

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The agents are told at once of a network in which a pod of theirs has not been before, and pods
// that come and go where others were are no reason to look after what agents have.
func TestAgentsLearnNewNetworks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.admin.Kubernetes.CoreV1().Nodes()
		for _, name := range []string{"node0", "node1", "node2"} {
			node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			node.Spec.PodCIDRs = []string{"10.0.0.0/24", "10.7.0.0/24"}
			_, err = nodes.Update(t.Context(), node, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		var provided atomic.Int64
		w.provision = func(Key) error { provided.Add(1); return nil }
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		begun := provided.Load()
		require.Positive(t, begun)

		db.roll("v2")
		db.requireDone(3*time.Minute, "v2")
		require.Equal(t, begun, provided.Load(), "the same network")

		pods := w.admin.Kubernetes.CoreV1().Pods(namespace)
		pod, err := pods.Get(t.Context(), "search-0", metav1.GetOptions{})
		require.NoError(t, err)
		pod.Status.PodIP = "10.7.0.3"
		_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		require.Equal(t, begun+1, provided.Load())
	})
}
