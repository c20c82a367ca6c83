package act

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/test/race"
)

// hide takes the StatefulSet and its pods out of sight.
func (w *world) hide(hidden bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hidden = hidden
}

// The StatefulSet is out of sight for two seconds, from any moment on: the label was
// lost and is back, or it was deleted with its pods left behind and applied again. No
// claim ends by that, and nothing stays behind in the database.
func TestAPoolThatVanishesForAMoment(t *testing.T) {
	race.Heavy(t)
	for _, make := range []func(t *testing.T) *world{newWorld, newSettingWorld} {
		for at := 1; at < 40; at += 2 {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(10 * time.Second)
				w := make(t)
				var calls atomic.Int32
				var p *process
				before := func(what string) (func() error, error) {
					if int(calls.Add(1)) == at {
						w.hide(true)
						time.AfterFunc(2*time.Second, func() { w.hide(false) })
					}
					return p.count(what)
				}
				p = newProcess(w, 0, false)
				p.agents.before = before
				p.client = w.server.Client(func(c kubetest.Call) (func() error, error) { return before(c.Verb + " " + c.Resource) })
				p.run(5 * time.Minute)
				w.requireRolled(1)
				if w.setting != nil {
					w.requirePutBack()
				}
			})
		}
	}
}

// While it stays out of sight the claim stays, says what it waits for, and leaves no
// guard open; it ends when the API server says that all pods are gone.
func TestAPoolThatStaysOutOfSight(t *testing.T) {
	for name, c := range map[string]struct {
		when  string // it vanishes
		label map[string]string
		gone  bool // it is deleted, its pods are not
		wait  string
	}{
		"its label is lost": {"patch pods", nil, false,
			"the pod is still there: StatefulSet s has lost the label rollcall.dev/cluster: search, and the drain is not undone: it waits for the label"},
		"it is another's": {"evict pods/eviction", map[string]string{v1alpha1.LabelCluster: "other"}, false,
			"StatefulSet s has lost the label rollcall.dev/cluster: search, and the drain is not undone: it waits for the label"},
		"it is deleted, and its pods are left behind": {"evict pods/eviction", nil, true,
			"StatefulSet s is gone and has left pods behind (s-0, s-1, s-2), and the drain is not undone: it waits for the StatefulSet with the label rollcall.dev/cluster: search, or for these pods to go"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				sets := w.server.Client(nil).Kubernetes.AppsV1().StatefulSets(namespace)
				if !c.gone {
					_, err := sets.Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s", Labels: c.label}}, metav1.CreateOptions{})
					require.NoError(t, err)
				}
				vanished := false
				p := intercepted(w, func(call kubetest.Call) error {
					if prepared := w.hasDrained(); prepared && !vanished && call.Verb+" "+call.Resource == c.when {
						vanished = true
						w.hide(true)
					}
					return nil
				})
				require.NoError(t, p.start())
				waits, open := "", 0
				for range 300 {
					out, leads := p.pass()
					require.True(t, leads)
					waits, open = fmt.Sprint(out.Waiting["s-2"]), len(out.Claims)
					time.Sleep(100 * time.Millisecond)
				}
				require.Equal(t, c.wait, waits)
				require.Equal(t, 1, open)
				require.Len(t, w.claims(), 1)
				require.Len(t, w.applied, 1)
				if _, there := w.server.Pod(namespace, "s-2"); there {
					w.requireGuardClosed("s-2")
				}

				_ = sets.Delete(t.Context(), "s", metav1.DeleteOptions{})
				for _, pod := range w.pods {
					if object, ok := w.server.Pod(namespace, pod); ok {
						w.server.EndPod(namespace, pod, object.UID)
					}
				}
				for range 100 {
					p.pass()
					time.Sleep(100 * time.Millisecond)
				}
				require.Empty(t, w.claims())
				p.kill()
				p.leader.Wait()
			})
		})
	}
}

func (w *world) hasDrained() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.drained) > 0
}
