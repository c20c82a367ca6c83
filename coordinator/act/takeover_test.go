package act

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// The former leader has read everything and is about to write when the next
// one takes over: its write fails, and so does its next try.
func TestLateWriteOfAFormerLeaderFails(t *testing.T) {
	for _, verb := range []string{"patch", "evict"} {
		t.Run(verb, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var second *process
				first := intercepted(w, func(c kubetest.Call) error {
					if c.Verb == verb && second == nil {
						second = newProcess(w, 0, false)
						require.NoError(t, second.start())
					}
					return nil
				})
				first.run(10 * time.Second)
				require.NotNil(t, second)
				require.Empty(t, w.gone(), "the former leader removed a pod")
				_, leads := first.pass()
				require.False(t, leads)
				second.run(5 * time.Minute)
				w.requireRolled(1)
			})
		})
	}
}

// The former leader has opened a guard, and knows of nothing that came after: what it then
// removes is the pod as it opened it, and so nothing.
func TestARemovalIsOfWhatWasOpened(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := newProcess(w, 0, false)
		require.NoError(t, first.start())
		opened := func() bool {
			pod, ok := w.server.Pod(namespace, "s-2")
			return ok && pod.Annotations[v1alpha1.AnnotationClaim] != ""
		}
		for range 100 {
			if opened() {
				break
			}
			first.pass()
			time.Sleep(10 * time.Millisecond)
		}
		require.True(t, opened())
		require.Empty(t, w.gone())
		cluster, _ := w.server.Cluster(namespace, name)
		s, versions := w.snapshot(cluster), w.versions()
		second := newProcess(w, 0, false)
		require.NoError(t, second.start())
		for range 20 {
			first.advance(cluster, s, versions)
			time.Sleep(50 * time.Millisecond)
		}
		require.Empty(t, w.gone())
		first.kill()
		first.leader.Wait()
		second.run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// rolledByTwo has two processes act at once, neither of which knows of the other.
func rolledByTwo(t *testing.T, w *world) {
	t.Helper()
	first := newProcess(w, 0, false)
	require.NoError(t, first.start())
	second := newProcess(w, 0, false)
	require.NoError(t, second.start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		first.run(5 * time.Minute)
	}()
	second.run(5 * time.Minute)
	<-done
	w.requireRolled(1)
}

func TestTwoActorsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rolledByTwo(t, w)
	})
}

func TestTakeOverExceedsTheHighestEpoch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.server.Client(nil)
		cluster, _ := w.server.Cluster(namespace, name)
		taken, err := TakeOver(t.Context(), c.Clusters, c.Kubernetes, cluster, 41, context.WithCancel)
		require.NoError(t, err)
		require.EqualValues(t, 42, taken.Cluster.Status.Epoch)

		_, err = TakeOver(t.Context(), c.Clusters, c.Kubernetes, cluster, 0, context.WithCancel)
		require.True(t, apierrors.IsConflict(err), "an older object must not be enough: %v", err)
		_, err = TakeOver(t.Context(), c.Clusters, c.Kubernetes, taken.Cluster, 1<<60, context.WithCancel)
		require.ErrorIs(t, err, ErrEpochsUsedUp)
	})
}

// An epoch that no coordinator can have written holds nothing: others than coordinators may write
// a status, too.
func TestForgedEpochInTheStatusIsExceeded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.server.Client(nil)
		for _, epoch := range []int64{maxEpoch + 1, math.MaxInt64, -1, math.MinInt64} {
			cluster, _ := w.server.Cluster(namespace, name)
			cluster.Status.Epoch = epoch
			cluster, err := c.Clusters.DatabaseClusters(namespace).UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{})
			require.NoError(t, err)
			taken, err := TakeOver(t.Context(), c.Clusters, c.Kubernetes, cluster, 41, context.WithCancel)
			require.NoError(t, err)
			require.EqualValues(t, 42, taken.Cluster.Status.Epoch)
		}
	})
}

// A successor knows of each claimed pod whether it went while nobody looked.
func TestTakeOverReportsExistingPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.server.Client(nil)
		cluster, _ := w.server.Cluster(namespace, name)
		cluster = cluster.DeepCopy()
		for _, pod := range w.pods[:3] {
			object, _ := w.server.Pod(namespace, pod)
			cluster.Status.Claims = append(cluster.Status.Claims, model.Claim{ID: pod, Pod: pod, UID: string(object.UID), Phase: model.PhaseDrained})
		}
		uid := func(i int) string { return cluster.Status.Claims[i].UID }
		cluster.Status.Claims[1].UID = "of-its-predecessor"
		require.NoError(t, c.Kubernetes.CoreV1().Pods(namespace).Delete(t.Context(), w.pods[2], metav1.DeleteOptions{}))

		taken, err := TakeOver(t.Context(), c.Clusters, c.Kubernetes, cluster, 0, context.WithCancel)
		require.NoError(t, err)
		require.True(t, taken.Standing[uid(0)])
		require.False(t, taken.Standing[uid(1)], "another pod has its name")
		require.False(t, taken.Standing[uid(2)], "it is going, or has gone")
		require.Zero(t, taken.Cluster.Status.LastDeparture, "none is invented")
	})
}

// An agent that has heard of a higher epoch ends this one; the next goes above it.
func TestAgentOfALaterEpochDeposes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, pod := range w.pods {
			object, _ := w.server.Pod(namespace, pod)
			w.epochs[string(object.UID)] = 7
		}
		p := newProcess(w, 0, false)
		p.run(10 * time.Second)
		require.True(t, p.leader.state.Superseded())
		require.Empty(t, w.gone())

		cluster, _ := w.server.Cluster(namespace, name)
		c := w.server.Client(nil)
		_, err := TakeOver(t.Context(), c.Clusters, c.Kubernetes, cluster, 7, context.WithCancel)
		require.NoError(t, err)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// The claim is somebody's edit away: without it nothing goes.
func TestNothingGoesWithoutAClaim(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		robbed := false
		p := intercepted(w, func(c kubetest.Call) error {
			if c.Verb == "get" && c.Resource == "pods" && !robbed {
				robbed = true
				clusters := w.server.Client(nil).Clusters.DatabaseClusters(namespace)
				cluster, err := clusters.Get(t.Context(), name, metav1.GetOptions{})
				require.NoError(t, err)
				cluster.Status.Claims = nil
				_, err = clusters.UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			return nil
		})
		p.run(10 * time.Second)
		require.True(t, robbed)
		require.Empty(t, w.gone())
	})
}

// A guard that the former leader has opened is closed by the take-over itself: until the new leader
// has decided, its pod would else be in its controller's hands.
func TestTakeOverClosesAnOpenGuard(t *testing.T) {
	inRollingWorld(t, model.RollingUpdateByGuard, true, func(t *testing.T, w *world) {
		var second *process
		var before, after bool
		first := intercepted(w, func(c kubetest.Call) error {
			if c.Verb == "evict" && second == nil {
				w.set.sleep(true)
				before = w.isOpen("s-2")
				second = newProcess(w, 0, false)
				require.NoError(t, second.start())
				after = w.isOpen("s-2")
				w.set.sleep(false)
			}
			return nil
		})
		first.run(10 * time.Second)
		require.True(t, before)
		require.False(t, after, "it is open, and the second leader has decided nothing yet")
		require.Empty(t, w.gone(), "the former leader or the controller removed a pod")
		second.run(5 * time.Minute)
		w.requireClean()
		require.True(t, w.done(), w.describe())
	})
}

// A pod that changes between its touch and that stays as it is, for the first step to look at.
func TestTakeOverLeavesAGuardThatChanges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.patchPod("s-0", `{"metadata":{"labels":{"`+v1alpha1.LabelGuard+`":"open"}}}`)
		patches := 0
		c := w.server.Client(func(c kubetest.Call) (func() error, error) {
			if c.Verb == "patch" && c.Resource == "pods" {
				if patches++; patches == 2 {
					w.patchPod("s-0", `{"metadata":{"annotations":{"changed":"true"}}}`)
				}
			}
			return nil, nil
		})
		cluster, _ := w.server.Cluster(namespace, name)
		cluster = cluster.DeepCopy()
		object, _ := w.server.Pod(namespace, "s-0")
		cluster.Status.Claims = []model.Claim{{ID: "c", Pod: "s-0", UID: string(object.UID), Phase: model.PhaseOpened}}
		taken, err := TakeOver(t.Context(), c.Clusters, c.Kubernetes, cluster, 0, context.WithCancel)
		require.NoError(t, err)
		require.True(t, taken.Standing[string(object.UID)])
		require.Equal(t, 2, patches)
		require.True(t, w.isOpen("s-0"))
	})
}
