package act

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
	"github.com/rollcall-dev/rollcall/test/race"
)

func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Second) // kubelets finish
		f(t, newWorld(t))
	})
}

// intercepted is a process whose requests to the API server pass by before.
func intercepted(w *world, before func(c kubetest.Call) error) *process {
	p := newProcess(w, 0, false)
	p.client = w.server.Client(func(c kubetest.Call) (func() error, error) {
		if err := before(c); err != nil {
			return nil, err
		}
		return p.count(c.Verb + " " + c.Resource)
	})
	return p
}

// found is what acting has found out about a pod.
func (p *process) found(pod string) model.Rule {
	found := podNamed(p.leader.annotated(p.w.snapshotNow()), pod)
	if found.Report.Veto != "" {
		return model.RuleVeto
	}
	return found.Refused
}

func (w *world) label(pod, value string) {
	body := []byte(`{"metadata":{"labels":{"touched":"` + value + `"}}}`)
	_, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Patch(w.t.Context(), pod, types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// A conflict leads back to the barrier: pod and witnesses look again, and the
// policy is asked again, before the next try.
func TestConflictLeadsBackToTheBarrier(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		conflicts := 0
		p := intercepted(w, func(c kubetest.Call) error {
			if c.Verb == "evict" && conflicts < 3 {
				conflicts++
				w.label(c.Name, time.Now().String())
			}
			return nil
		})
		p.run(5 * time.Minute)
		w.requireRolled(1)
		require.Equal(t, 3, conflicts)
		// Three pods look for each of the six barriers: three restarts, three conflicts.
		require.GreaterOrEqual(t, w.fresh, 3*6)
	})
}

func TestPodThatKeepsChangingIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tries, restless := 0, true
		p := intercepted(w, func(c kubetest.Call) error {
			if c.Verb == "evict" && c.Name == "s-2" && restless {
				tries++
				w.label(c.Name, time.Now().String())
			}
			return nil
		})
		p.run(4 * time.Second)
		require.Equal(t, maxConflicts, tries)
		require.Equal(t, model.RuleConflict, p.found("s-2"))
		require.Empty(t, w.wrong)
		w.requireGuardClosed("s-2")

		restless = false
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

func (w *world) isOpen(pod string) bool {
	object, ok := w.server.Pod(namespace, pod)
	return ok && object.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardOpen
}

// requireGuardClosed: the guard is closed and no claim is noted on the pod.
func (w *world) requireGuardClosed(pod string) {
	w.t.Helper()
	object, ok := w.server.Pod(namespace, pod)
	require.True(w.t, ok)
	require.Equal(w.t, v1alpha1.GuardClosed, object.Labels[v1alpha1.LabelGuard])
	require.Empty(w.t, object.Annotations[v1alpha1.AnnotationClaim])
}

func TestForeignBudgetIsNamed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		refuse := true
		w.server.Refuse = func(pod *corev1.Pod) error {
			if refuse && pod.Name == "s-2" {
				return apiserver.BudgetRefusal()
			}
			return nil
		}
		p := newProcess(w, 0, false)
		p.run(32 * time.Second)
		require.Equal(t, model.RuleForeignBudget, p.found("s-2"))
		w.requireGuardClosed("s-2")
		require.Zero(t, w.gone()["s-2"])
		require.Equal(t, maxRefusals, p.writes["evict pods/eviction"]-w.gone()["s-1"])

		refuse = false
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// An API server that is busy is no budget: the claim stays, and is tried again.
func TestBusyAPIServerIsNotABudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		failures := 0
		p := intercepted(w, func(c kubetest.Call) error {
			if c.Verb == "evict" && failures < 8 {
				failures++
				return errors.New("the server is currently unable to handle the request")
			}
			return nil
		})
		p.run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// The API server refuses every eviction for a reason that is no budget's, as when the right is
// missing, or somebody's webhook says no. It is not asked all the time, every pod gets its turn,
// and people can see why nothing goes.
func TestAnEvictionThatIsAlwaysRefusedIsNamed(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		evicted, patches, early, refuse := map[string]int{}, 0, 0, true
		began, silent := time.Now(), 0
		p := intercepted(w, func(c kubetest.Call) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case c.Verb == "patch" && c.Resource == "pods":
				patches++
			case c.Verb == "evict" && refuse:
				if evicted[c.Name]++; time.Since(began) < time.Second {
					early++
				}
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods/eviction"}, c.Name, errors.New("change freeze"))
			}
			return nil
		})
		require.NoError(t, p.start())
		for time.Since(began) < 30*time.Minute {
			out, leads := p.pass()
			require.True(t, leads)
			told := p.found("s-2") == model.RuleVeto
			for _, why := range out.Waiting {
				told = told || strings.Contains(why, "change freeze")
			}
			if !told && time.Since(began) > 10*time.Second {
				silent++
			}
			select {
			case <-p.notify:
			case <-time.After(100 * time.Millisecond):
			}
		}
		total := evicted["s-0"] + evicted["s-1"] + evicted["s-2"]
		require.LessOrEqual(t, early, 5)
		require.LessOrEqual(t, total, 500)
		require.LessOrEqual(t, patches, 3*total)
		require.Len(t, evicted, 3)
		require.Less(t, silent, 100, "nobody is told why nothing goes")
		for _, pod := range w.pods {
			w.requireGuardClosed(pod)
		}

		w.mu.Lock()
		refuse = false
		w.mu.Unlock()
		p.run(10 * time.Minute)
		w.requireRolled(1)
	})
}

// Somebody else removes the very pod, just before we do.
func TestRemovalBySomebodyElseIsOurs(t *testing.T) {
	for _, verb := range []string{"get", "patch", "evict"} {
		t.Run(verb, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				done := false
				p := intercepted(w, func(c kubetest.Call) error {
					if c.Verb == verb && c.Name == "s-2" && !done {
						done = true
						err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Delete(w.t.Context(), "s-2", metav1.DeleteOptions{})
						require.NoError(t, err)
					}
					return nil
				})
				p.run(5 * time.Minute)
				w.wrong = nil // that one went with its guard closed, and not by us
				w.requireRolled(1)
			})
		})
	}
}

// What the cache does not show yet may already be: with a cache that is behind
// nothing goes.
func TestNothingGoesWhileTheCacheIsBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		behind := w.snapshotNow()
		versions := w.versions()
		admin := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace)
		require.NoError(t, admin.Delete(t.Context(), "s-0", metav1.DeleteOptions{}))
		w.wrong = nil
		for range 600 {
			cluster, _ := w.server.Cluster(namespace, name)
			s := behind
			s.Now = model.At(time.Now())
			s.Cluster.Status.Claims, s.Cluster.Status.Epoch = cluster.Status.Claims, cluster.Status.Epoch
			w.tellDrains(&s)
			p.advance(cluster, s, versions)
			time.Sleep(100 * time.Millisecond)
		}
		require.Positive(t, p.writes["patch pods"], "a guard was opened")
		require.Equal(t, map[string]int{"s-0": 1}, w.gone())
		p.kill()
		p.leader.Wait()
	})
}

func TestRefusedDrainIsAVeto(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		refuse := true
		w.onDrain = func(to effect.Target, _ effect.Order) (effect.Progress, error) {
			if refuse && to.Pod == "s-2" {
				return effect.Progress{State: model.DrainRefused, Detail: "a backup runs"}, nil
			}
			return effect.Progress{State: model.DrainDone}, nil
		}
		p := newProcess(w, 0, false)
		p.run(8 * time.Second)
		require.Equal(t, model.RuleVeto, p.found("s-2"))
		require.Zero(t, w.gone()["s-2"])
		w.mu.Lock()
		refuse = false
		w.mu.Unlock()
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}
