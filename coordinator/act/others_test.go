package act

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/test/race"
)

// strand takes the node from a pod: its volume is bound to one that is lost, and
// nothing of it runs any more.
func (w *world) strand(pod string) {
	object, _ := w.server.Pod(namespace, pod)
	w.stranded[object.UID], w.live[object.UID] = true, false
}

// newStrandedWorld is a disk world in which any agent can empty any pod, and one pod
// finds no node.
func newStrandedWorld(t *testing.T) *world {
	w := newDiskWorld(t)
	w.stranded = map[types.UID]bool{}
	w.strand("s-1")
	return w
}

// names are those that the database has for the pods.
func (w *world) names() map[string]string {
	if w.stranded == nil && w.bare == nil {
		return nil
	}
	names := map[string]string{}
	for _, pod := range w.pods {
		names[pod] = "n-" + pod
	}
	return names
}

// subject is the pod that an order is for. Callers hold the lock.
func (w *world) subject(to effect.Target, order effect.Order) (effect.Target, error) {
	if order.For == (effect.Subject{}) {
		return to, nil
	}
	for _, pod := range w.pods {
		object, ok := w.server.Pod(namespace, pod)
		if !ok || string(object.UID) != order.For.UID {
			continue
		}
		switch {
		case order.For.Node != "n-"+pod:
			w.accuse("%s is emptied under the name of %s", pod, order.For.Node)
		case order.Prepare != model.PrepareEvacuate:
			w.accuse("%s is drained by another agent for %s", pod, order.Prepare)
		case !w.stranded[object.UID]:
			return to, fmt.Errorf("%s runs", pod) // it has started meanwhile
		}
		return effect.Target{Pod: pod, UID: order.For.UID}, nil
	}
	return to, fmt.Errorf("pod %s is gone", order.For.UID)
}

// A pod in which no agent runs is emptied by another one, and comes back on a volume of its own, as
// do the others after it.
func TestAStrandedPodIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Second)
		w := newStrandedWorld(t)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// As with other replacements.
func TestResumesAStrandedPodAfterACrashAtEveryCall(t *testing.T) {
	resumesAfterACrashAtEveryCall(t, newStrandedWorld, false, true)
}

// Its node is back before, in the middle of or after its emptying; then its own agent has its say,
// and it is replaced all the same.
func TestAStrandedPodStarts(t *testing.T) {
	race.Heavy(t)
	for _, works := range []bool{true, false} {
		t.Run(fmt.Sprintf("works %t", works), func(t *testing.T) { strandedStarts(t, works) })
	}
}

// strandedStarts, with a server that works or does not, at every request.
func strandedStarts(t *testing.T, works bool) {
	for at := 1; at < 25; at++ {
		if !race.Part(at, 15) {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(10 * time.Second)
			w := newStrandedWorld(t)
			object, _ := w.server.Pod(namespace, "s-1")
			calls := 0
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls != at {
					return nil
				}
				now, ok := w.server.Pod(namespace, "s-1")
				if !ok || now.UID != object.UID || now.DeletionTimestamp != nil {
					return nil
				}
				now.Annotations = map[string]string{"started": "true"} // and so its version changes
				_, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Update(t.Context(), now, metav1.UpdateOptions{})
				require.NoError(t, err)
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.stranded, object.UID)
				w.live[object.UID] = works
				w.drained[string(object.UID)] = false // its agent has heard of nothing
				return nil
			})
			p.run(5 * time.Minute)
			w.requireClean()
			require.True(t, w.done(), "started at request %d: %s", at, w.describe())
		})
	}
}
