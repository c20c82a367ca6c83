package act

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// onDeadNode has s-1 terminate where no kubelet ends it.
func (w *world) onDeadNode() {
	w.server.Removed = nil
	pods := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace)
	pod, err := pods.Get(w.t.Context(), "s-1", metav1.GetOptions{})
	require.NoError(w.t, err)
	now := metav1.Now()
	pod.DeletionTimestamp = &now
	_, err = pods.Update(w.t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// passOnDeadNode is a pass that knows that the node of s-1 is gone.
func passOnDeadNode(p *process) bool {
	cluster, _ := p.w.server.Cluster(namespace, name)
	s := p.w.snapshot(cluster)
	for i := range s.Pods {
		if s.Pods[i].Name == "s-1" {
			s.Pods[i].Problem = model.ProblemNodeGone
		}
	}
	_, leads := p.passOn(cluster, s)
	time.Sleep(time.Second)
	return leads
}

func vouchFor(pods ...string) func(*v1alpha1.DatabaseCluster) {
	return func(c *v1alpha1.DatabaseCluster) {
		c.Generation++
		c.Spec.Overrides = []model.Override{{Rule: model.RuleNodeGone, Pods: pods, Reason: "no power", Expires: model.At(time.Now().Add(time.Hour))}}
	}
}

// A pod that terminates on a dead node stays until a person has named it; then
// its object is deleted, once, whether or not it is claimed.
func TestDeadNodeFreesItsPodOnlyByOverride(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDeadNode()
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		for range 5 {
			require.True(t, passOnDeadNode(p))
		}
		_, there := w.server.Pod(namespace, "s-1")
		require.True(t, there, "nobody has said that it may go")
		w.edit(vouchFor("s-0"))
		for range 5 {
			require.True(t, passOnDeadNode(p))
		}
		_, there = w.server.Pod(namespace, "s-1")
		require.True(t, there, "another was named")
		w.edit(vouchFor("s-0", "s-1"))
		for range 5 {
			require.True(t, passOnDeadNode(p))
		}
		_, there = w.server.Pod(namespace, "s-1")
		require.False(t, there)
		_, there = w.server.Pod(namespace, "s-0")
		require.True(t, there, "it is not terminating")
		require.Equal(t, 1, p.writes["delete pods"])
		p.kill()
		p.leader.Wait()
	})
}

// A former leader deletes nothing by force, not even what it had decided on.
func TestDeadNodeOfAFormerLeader(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDeadNode()
		w.edit(vouchFor("s-1"))
		var took atomic.Pointer[process]
		first := intercepted(w, func(c kubetest.Call) error {
			if c.Verb == "get" && c.Resource == "pods" && took.Load() == nil {
				next := newProcess(w, 0, false)
				took.Store(next)
				require.NoError(t, next.start())
			}
			return nil
		})
		require.NoError(t, first.start())
		passOnDeadNode(first)
		second := took.Load()
		require.NotNil(t, second)
		require.False(t, passOnDeadNode(first))
		_, there := w.server.Pod(namespace, "s-1")
		require.True(t, there)
		passOnDeadNode(second)
		passOnDeadNode(second)
		_, there = w.server.Pod(namespace, "s-1")
		require.False(t, there)
		first.kill()
		second.kill()
		first.leader.Wait()
		second.leader.Wait()
	})
}

// What nobody has deleted is not deleted by force.
func TestForceNeedsADeletion(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pods := NewPods(w.server.Client(nil).Kubernetes, namespace)
		object, _ := w.server.Pod(namespace, "s-1")
		seen, err := pods.read(context.Background(), "s-1", string(object.UID))
		require.NoError(t, err)
		require.ErrorContains(t, pods.removeByForce(context.Background(), seen), "nobody has deleted it yet")
	})
}
