package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// becomeRollingUpdate changes the strategy of a database's StatefulSet.
func (db *database) becomeRollingUpdate(partition int32) {
	sets := db.w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
	set, err := sets.Get(db.w.t.Context(), db.name, metav1.GetOptions{})
	require.NoError(db.w.t, err)
	set.Generation++
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}}
	set, err = sets.Update(db.w.t.Context(), set, metav1.UpdateOptions{})
	require.NoError(db.w.t, err)
	set.Status.ObservedGeneration = set.Generation
	_, err = sets.UpdateStatus(db.w.t.Context(), set, metav1.UpdateOptions{})
	require.NoError(db.w.t, err)
}

func toldOfRollingUpdate(s v1alpha1.Status) bool {
	return slices.ContainsFunc(s.Holds, func(h policy.Hold) bool {
		return h.Rule == policy.BadInput && h.Pod == "" && len(h.Unblocks) > 0
	}) && conditionOf(s, v1alpha1.ConditionReady).Status == metav1.ConditionFalse
}

// A pool that Kubernetes rolls by itself is left alone in both modes, and the
// status says so, before a rollout and in it.
func TestRollingUpdatePoolsAreToldAndLeftAlone(t *testing.T) {
	for _, by := range []policy.RollingUpdate{policy.ByGuard, policy.ByPartition} {
		t.Run(string(by), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.RollingUpdate = by })
				db.becomeRollingUpdate(3)
				p := w.start()
				defer p.end()
				time.Sleep(30 * time.Second)
				require.True(t, toldOfRollingUpdate(db.status()), "%+v", db.status())
				require.NotEqual(t, policy.ClusterDone, db.status().Phase)

				db.roll("v2")
				time.Sleep(5 * time.Minute)
				require.True(t, toldOfRollingUpdate(db.status()), "%+v", db.status())
				require.Equal(t, string(policy.BadInput), conditionOf(db.status(), v1alpha1.ConditionReady).Reason)
				require.Contains(t, conditionOf(db.status(), v1alpha1.ConditionReady).Message, "does not carry out")
				require.Equal(t, policy.ClusterWaiting, db.status().Phase)
				require.Empty(t, w.gone())
				require.Empty(t, db.status().Claims)
				require.Zero(t, p.writes["patch pods"])
				require.Zero(t, p.writes["patch statefulsets"]+p.writes["update statefulsets"])
			})
		})
	}
}

// A claim from before the strategy was changed is given up: its pod stays.
func TestClaimEndsWithTheStrategy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.hang(true)
		db.roll("v2")
		time.Sleep(4 * time.Second)
		require.Len(t, db.status().Claims, 1)
		db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.RollingUpdate = policy.ByPartition })
		db.becomeRollingUpdate(0)
		db.hang(false)
		time.Sleep(time.Minute)
		require.Empty(t, db.status().Claims)
		require.Empty(t, w.gone())
		require.True(t, toldOfRollingUpdate(db.status()))
	})
}
