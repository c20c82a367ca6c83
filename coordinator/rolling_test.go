package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// becomeRollingUpdate changes the strategy of a database's StatefulSets.
func (db *database) becomeRollingUpdate(partition int32) {
	sets := db.w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
	for _, p := range db.pools {
		set := db.set(p)
		set.Generation++
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}}
		_, err := sets.Update(db.w.t.Context(), set, metav1.UpdateOptions{})
		require.NoError(db.w.t, err)
	}
	db.observe("")
}

func (db *database) set(p *pool) *appsv1.StatefulSet {
	set, err := db.w.admin.Kubernetes.AppsV1().StatefulSets(namespace).Get(db.w.t.Context(), p.name, metav1.GetOptions{})
	require.NoError(db.w.t, err)
	return set
}

// observe is the StatefulSet controller looking at the newest spec, and, with a
// revision, finding all pods on that.
func (db *database) observe(current string) {
	sets := db.w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
	for _, p := range db.pools {
		set := db.set(p)
		if set.Status.ObservedGeneration == set.Generation && current == "" {
			continue
		}
		set.Status.ObservedGeneration = set.Generation
		if current != "" {
			set.Status.CurrentRevision = current
		}
		_, err := sets.UpdateStatus(db.w.t.Context(), set, metav1.UpdateOptions{})
		require.NoError(db.w.t, err)
	}
}

// observing is a controller that looks again and again.
func (db *database) observing(length time.Duration) {
	for range int(length / time.Second) {
		db.observe("")
		time.Sleep(time.Second)
	}
}

// partition is that of the first pool.
func (db *database) partition() (partition int32, note string) {
	set := db.set(db.pools[0])
	return *set.Spec.UpdateStrategy.RollingUpdate.Partition, set.Annotations[v1alpha1.AnnotationPartition]
}

func toldOfRollingUpdate(s v1alpha1.Status) bool {
	return slices.ContainsFunc(s.Holds, func(h model.Hold) bool {
		return h.Rule == model.RuleBadInput && h.Pod == "" && len(h.Unblocks) > 0
	}) && conditionOf(s, v1alpha1.ConditionReady).Status == metav1.ConditionFalse
}

// Without a guard that is enforced a pool is not driven by it: it is left alone,
// and the status says so, before a rollout and in it.
func TestUnenforcedGuardIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.becomeRollingUpdate(3)
		p := w.start()
		defer p.end()
		time.Sleep(30 * time.Second)
		require.True(t, toldOfRollingUpdate(db.status()), "%+v", db.status())
		require.NotEqual(t, model.ClusterDone, db.status().Phase)

		db.roll("v2")
		time.Sleep(5 * time.Minute)
		require.True(t, toldOfRollingUpdate(db.status()), "%+v", db.status())
		require.Equal(t, string(model.RuleBadInput), conditionOf(db.status(), v1alpha1.ConditionReady).Reason)
		require.Contains(t, conditionOf(db.status(), v1alpha1.ConditionReady).Message, "needs the guard")
		require.Equal(t, model.ClusterWaiting, db.status().Phase)
		require.Empty(t, w.gone())
		require.Empty(t, db.status().Claims)
		require.Zero(t, p.writes["patch pods"])
		require.Zero(t, p.writes["patch statefulsets"]+p.writes["update statefulsets"])
	})
}

// By the partition: the partition is raised once the database was healthy, goes down pod by pod,
// and rests again when the new revision is the current one.
func TestRollsOutByPartition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.edit(func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Update.RollingUpdate, c.Spec.Guard = model.RollingUpdateByPartition, model.GuardOff
		})
		db.becomeRollingUpdate(0)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		line, note := db.partition()
		require.Equal(t, model.FirstOrdinalNone, line, "%+v", db.status())
		require.Equal(t, "1000000", note)
		require.Empty(t, w.gone(), "arming restarts nothing")
		db.observe("")

		db.roll("v2")
		db.observing(time.Minute)
		require.Equal(t, []string{"search-2 v1", "search-1 v1", "search-0 v1"}, w.gone())
		line, _ = db.partition()
		require.Zero(t, line, "a dying pod would come back on the old revision")
		db.observe("v2")
		time.Sleep(10 * time.Second)
		line, note = db.partition()
		require.Equal(t, model.FirstOrdinalNone, line)
		require.Equal(t, "1000000", note)
		require.Len(t, w.gone(), 3)
		require.EqualValues(t, "False", conditionOf(db.status(), v1alpha1.ConditionPartitionReset).Status)
	})
}

// A tool that keeps a field as it has it is told from a person who gives an order.
func TestPartitionThatIsResetIsACondition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.edit(func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Update.RollingUpdate, c.Spec.Guard = model.RollingUpdateByPartition, model.GuardOff
		})
		db.becomeRollingUpdate(0)
		p := w.start()
		defer p.end()
		for range 120 {
			time.Sleep(time.Second)
			if line, _ := db.partition(); line != 0 {
				db.becomeRollingUpdate(0)
			}
		}
		condition := conditionOf(db.status(), v1alpha1.ConditionPartitionReset)
		require.EqualValues(t, "True", condition.Status)
		require.Contains(t, condition.Message, "StatefulSet search")
		require.Less(t, p.writes["patch statefulsets"], 10, "it is written less and less often")
		require.Empty(t, w.gone())

		time.Sleep(10 * time.Minute)
		line, _ := db.partition()
		require.Equal(t, model.FirstOrdinalNone, line, "nobody resets it any more")
	})
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
		db.becomeRollingUpdate(0)
		db.hang(false)
		time.Sleep(time.Minute)
		require.Empty(t, db.status().Claims)
		require.Empty(t, w.gone())
		require.True(t, toldOfRollingUpdate(db.status()))
	})
}
