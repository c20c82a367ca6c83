package act

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Who may write the status of a DatabaseCluster need not be allowed to delete volume claims:
// one that never was a pod's of this database is not deleted, whatever a claim says.
func TestAForgedClaimTakesNobodysVolume(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		admin := w.server.Client(nil)
		made, err := admin.Kubernetes.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "payroll", Finalizers: []string{"kubernetes.io/pvc-protection"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		now := policy.At(time.Now())
		cluster, err := admin.Clusters.DatabaseClusters(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		cluster.Status.Claims = append(cluster.Status.Claims, policy.Claim{
			ID: "rcforged", Pod: "s-9", UID: "never", Action: policy.Replace, Phase: policy.PhaseEmptied,
			StartedAt: now, EmptiedAt: &now, Volumes: []policy.VolumeClaim{{Name: "payroll", UID: string(made.UID)}},
		})
		_, err = admin.Clusters.DatabaseClusters(namespace).UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{})
		require.NoError(t, err)
		newProcess(w, 0, false).run(time.Minute)
		volume, ok := w.server.VolumeClaim(namespace, "payroll")
		require.True(t, ok)
		require.Nil(t, volume.DeletionTimestamp, "the coordinator has deleted somebody else's volume")
	})
}
