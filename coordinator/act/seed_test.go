package act

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// byPartition are the two ways with a partition.
func byPartition(t *testing.T, f func(t *testing.T, w *world)) {
	for how, way := range ways {
		if way.by == model.RollingUpdateByPartition {
			t.Run(how, func(t *testing.T) { inRollingWorld(t, way.by, way.guarded, f) })
		}
	}
}

func (w *world) lines() []int32 {
	lines, _, _ := w.set.seen()
	return lines
}

// A write of labels and annotations alone moves no line, whenever it comes.
func TestMetadataWritesMoveNoPartition(t *testing.T) {
	byPartition(t, func(t *testing.T, w *world) {
		for i := range 40 {
			w.annotateSet("example.com/edited", time.Duration(i).String())
			newProcess(w, 0, false).run(time.Second)
		}
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
		time.Sleep(time.Second) // the controller looks
		require.Equal(t, []int32{model.FirstOrdinalNone, 2, 1, 0, model.FirstOrdinalNone}, w.lines())
	})
}

// While the database is not healthy the partition stays where it is, at rest and in the middle.
func TestPartitionWaitsForHealth(t *testing.T) {
	byPartition(t, func(t *testing.T, w *world) {
		w.turn(model.VerdictRed)
		newProcess(w, 0, false).run(time.Minute)
		require.Equal(t, []int32{model.FirstOrdinalNone}, w.lines())

		w.turn(model.VerdictGreen)
		newProcess(w, 0, false).run(6 * time.Second)
		w.turn(model.VerdictRed)
		newProcess(w, 0, false).run(time.Minute)
		require.Equal(t, []int32{model.FirstOrdinalNone, 2}, w.lines())
		require.Equal(t, map[string]int{"s-2": 1}, w.gone())

		w.turn(model.VerdictGreen)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// An updated pod that fails stays, and so does the partition; a corrected template is rolled by
// itself, the broken pod first.
func TestCorrectionIsRolledByItself(t *testing.T) {
	byPartition(t, func(t *testing.T, w *world) {
		w.broken["v2"] = true
		newProcess(w, 0, false).run(2 * time.Minute)
		require.Equal(t, map[string]int{"s-2": 1}, w.gone())
		require.Equal(t, []int32{model.FirstOrdinalNone, 2}, w.lines())
		s := w.snapshotNow()
		_, hold := policy.Recheck(s, "s-1")
		require.Equal(t, model.RuleRolloutHalted, hold.Rule)
		require.Contains(t, hold.Reason, "s-2")

		w.retemplate("v3")
		newProcess(w, 0, false).run(5 * time.Minute)
		require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 2}, w.gone())
		if w.guard == "" { // its controller is first: it is at the line
			require.Equal(t, []string{"s-2 was removed without a claim"}, w.wrong)
			w.wrong = nil
		}
		w.requireClean()
		require.True(t, w.done(), w.describe())
	})
}

// A StatefulSet that was deleted with its pods left behind, and applied again, has no line: it is
// drawn again before the controller takes what nobody asked for.
func TestRecreatedStatefulSetIsRolledOn(t *testing.T) {
	byPartition(t, func(t *testing.T, w *world) {
		newProcess(w, 0, false).run(6 * time.Second)
		require.Equal(t, map[string]int{"s-2": 1}, w.gone())
		w.set.sleep(true)
		sets := w.server.Client(nil).Kubernetes.AppsV1().StatefulSets(namespace)
		old := w.set.get()
		orphan := metav1.DeletePropagationOrphan
		require.NoError(t, sets.Delete(t.Context(), "s", metav1.DeleteOptions{PropagationPolicy: &orphan}))
		none := int32(0)
		_, err := sets.Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s", Generation: 1, Annotations: map[string]string{}, Labels: old.Labels},
			Spec: appsv1.StatefulSetSpec{Replicas: old.Spec.Replicas, Template: old.Spec.Template, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type:          appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &none},
			}},
			Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, CurrentRevision: "v1", UpdateRevision: w.update},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		for range 20 {
			w.set.observe()
			p.pass()
			time.Sleep(50 * time.Millisecond)
		}
		w.set.sleep(false)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireClean()
		require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.gone())
		require.True(t, w.done(), w.describe())
	})
}

// The agent is told who goes last, or has gone already.
func TestOrdersNameSuccessors(t *testing.T) {
	byPartition(t, func(t *testing.T, w *world) {
		told := map[string][]string{}
		w.onDrain = func(to effect.Target, order effect.Order) (effect.Progress, error) {
			told[to.Pod] = order.Eligible
			return effect.Progress{State: model.DrainDone}, nil
		}
		w.byForce = true // nothing is applied
		newProcess(w, 0, false).run(5 * time.Minute)
		require.Equal(t, map[string][]string{"s-2": {"s-0"}, "s-1": {"s-2"}, "s-0": {"s-1", "s-2"}}, told)
	})
}
