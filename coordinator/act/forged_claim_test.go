package act

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Who may write the status of a DatabaseCluster does not have to be allowed to delete volume
// claims: one that never was a pod's of this database is not deleted, whatever a claim says.
func TestAForgedClaimTakesNobodysVolume(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		admin := w.server.Client(nil)
		made, err := admin.Kubernetes.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "payroll", Finalizers: []string{"kubernetes.io/pvc-protection"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		now := model.At(time.Now())
		cluster, err := admin.Clusters.DatabaseClusters(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		cluster.Status.Claims = append(cluster.Status.Claims, model.Claim{
			ID: "rcforged", Pod: "s-9", UID: "never", Action: model.ActionReplace, Phase: model.PhaseEmptied,
			StartedAt: now, EmptiedAt: &now, Volumes: []model.VolumeClaim{{Name: "payroll", UID: string(made.UID)}},
		})
		_, err = admin.Clusters.DatabaseClusters(namespace).UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{})
		require.NoError(t, err)
		newProcess(w, 0, false).run(time.Minute)
		volume, ok := w.server.VolumeClaim(namespace, "payroll")
		require.True(t, ok)
		require.Nil(t, volume.DeletionTimestamp, "the coordinator has deleted somebody else's volume")
	})
}

// A volume claim that is not the pod's by the templates of its StatefulSet is left, with words:
// of a claim that was made before the templates changed, of a pool that is gone, of another
// database. Once somebody has deleted it, the claim goes on.
func TestVolumesOfNoTemplateAreLeft(t *testing.T) {
	for volume, c := range map[string]struct {
		pod  string
		own  []string // nil: its StatefulSet is not shown
		says string   // empty: it is deleted
	}{
		"data-s-1":       {"s-1", []string{"data-s-1", "logs-s-1"}, ""},
		"logs-s-1":       {"s-1", []string{"data-s-1", "logs-s-1"}, ""},
		"old-s-1":        {"s-1", []string{"data-s-1"}, "StatefulSet s has no template of that name any more"},
		"data-s-2":       {"s-1", []string{"data-s-1"}, "it is not named after pod s-1, so no coordinator has written this claim"},
		"data-other-0":   {"other-0", nil, "there is no StatefulSet other with templates of volume claims in this database"},
		"data-mine-s-0":  {"mine-s-0", nil, "there is no StatefulSet mine-s with"},
		"data-s-1-extra": {"s-1", []string{"data-s-1"}, "it is not named after pod s-1"},
	} {
		t.Run(volume, func(t *testing.T) {
			client := kubetest.New().Client(nil)
			made, err := client.Clusters.DatabaseClusters(namespace).Create(t.Context(), &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
			claims := client.Kubernetes.CoreV1().PersistentVolumeClaims(namespace)
			there, err := claims.Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: volume}}, metav1.CreateOptions{})
			require.NoError(t, err)
			claim := model.Claim{ID: "rc1", Pod: c.pod, UID: "u", Volumes: []model.VolumeClaim{{Name: volume, UID: string(there.UID)}}}
			made.Status.Claims, made.Status.Epoch = []model.Claim{claim}, 1
			_, err = client.Clusters.DatabaseClusters(namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
			require.NoError(t, err)
			a, err := New(Options{Agents: &restoring{}, Kubernetes: client.Kubernetes, Clusters: client.Clusters, Notify: func() {},
				Namespace: namespace, Name: name, UID: string(made.UID), Epoch: 1})
			require.NoError(t, err)
			e := effect.DeleteVolumes{Claim: claim, Own: c.own, SetShown: c.own != nil, PodGone: true, Expected: effect.Expected{Claim: &claim}}
			err = a.deleteOwn(t.Context(), e)
			_, gone := claims.Get(t.Context(), volume, metav1.GetOptions{})
			if c.says == "" {
				require.NoError(t, err)
				require.Error(t, gone)
				return
			}
			require.NoError(t, gone)
			require.ErrorContains(t, err, "a volume claim is left: "+volume+" of claim rc1: "+c.says)
			require.False(t, unanswered(err), "nothing is on its way")
			require.ErrorContains(t, err, "takes claim rc1 out of the DatabaseCluster's status")
			require.NoError(t, claims.Delete(t.Context(), volume, metav1.DeleteOptions{}))
			require.NoError(t, a.deleteOwn(t.Context(), e))
		})
	}
}
