package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A node dies while the pod that was sent away from it terminates, so its object stays. The
// setting of the whole database is put back after startSeconds, so that copies are made
// elsewhere.
func TestSettingIsRestoredWhileAPodIsStuckTerminating(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.allocation = "all"
		w.stuck = map[string]bool{"search-2": true}
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(10 * time.Second)
		nodes := w.admin.Kubernetes.CoreV1().Nodes()
		node, err := nodes.Get(t.Context(), "node2", metav1.GetOptions{})
		require.NoError(t, err)
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(8 * time.Minute)
		require.NotEqual(t, "all", db.allocation, "within startSeconds it may still come back")
		time.Sleep(4 * time.Minute)
		require.Equal(t, "all", db.allocation)
		require.Equal(t, []string{"search-2 v1"}, w.gone())
	})
}
