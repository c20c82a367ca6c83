package act

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
)

// turn changes how the database is.
func (w *world) turn(verdict model.Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.verdict = verdict
}

func (w *world) freeze(frozen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = frozen
}

// A foreign budget refuses the eviction, and then the policy holds the pod: its
// guard does not stay open until the claim is given up.
func TestGuardIsClosedWhenTheRemovalIsRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Refuse = func(*corev1.Pod) error {
			w.turn(model.VerdictRed)
			return apiserver.BudgetRefusal()
		}
		p := newProcess(w, 0, false)
		p.run(refusalPause - time.Second)
		w.requireGuardClosed("s-2")
		require.Len(t, w.claims(), 1)

		w.turn(model.VerdictGreen)
		w.server.Refuse = nil
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// A leader dies with a guard open, and the pod's agent answers nobody: the next leader closes the
// guard before it waits for the agent.
func TestGuardOfAPredecessorIsClosed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var first *process
		first = intercepted(w, func(c kubetest.Call) error {
			if c.Verb == "evict" {
				first.kill()
				return errCrashed
			}
			return nil
		})
		first.run(time.Minute)
		require.True(t, w.isOpen("s-2"))

		w.freeze(true)
		newProcess(w, 0, false).run(30 * time.Second)
		w.requireGuardClosed("s-2")
		require.Len(t, w.claims(), 1)

		w.freeze(false)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// The guard is opened and the answer lost: nobody knows, so it is closed.
func TestGuardThatMayBeOpenIsClosed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lost := false
		p := newProcess(w, 0, false)
		p.client = w.server.Client(func(c kubetest.Call) (func() error, error) {
			if c.Verb != "patch" || lost {
				return nil, nil
			}
			lost = true
			return func() error {
				w.turn(model.VerdictRed)
				return context.DeadlineExceeded
			}, nil
		})
		p.run(10 * time.Second)
		require.True(t, lost)
		w.requireGuardClosed("s-2")
	})
}

// The cache does not show that the guard is open, and in the meantime nobody can say how the
// database is.
func TestGuardIsClosedWhenItsPodIsHeld(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		var opened atomic.Bool
		p.agents.before = func(call string) (func() error, error) {
			if call == "fresh" && w.isOpen("s-2") {
				opened.Store(true)
				w.freeze(true)
			}
			return nil, nil
		}
		require.NoError(t, p.start())
		behind := w.versions()
		for range 200 {
			cluster, _ := w.server.Cluster(namespace, name)
			p.advance(cluster, w.snapshot(cluster), behind)
			time.Sleep(100 * time.Millisecond)
		}
		require.True(t, opened.Load())
		w.requireGuardClosed("s-2")
		require.Empty(t, w.gone())
		p.kill()
		p.leader.Wait()
	})
}

// A pod is not opened on a snapshot that is older than the look of its witnesses,
// though their answers are there when the snapshot is acted on.
func TestNothingIsDecidedOnASnapshotFromBeforeTheLook(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		answer := make(chan struct{})
		p.agents.before = func(call string) (func() error, error) {
			if call == "fresh" {
				<-answer
			}
			return nil, nil
		}
		require.NoError(t, p.start())
		for range 50 {
			p.pass()
			time.Sleep(10 * time.Millisecond)
		}
		cluster, _ := w.server.Cluster(namespace, name)
		began, older := time.Now(), w.facts(cluster, w.snapshot(cluster), w.versions())
		time.Sleep(10 * time.Millisecond)
		w.turn(model.VerdictRed) // and this is what they see
		close(answer)
		time.Sleep(stragglers)

		p.leader.stepAt(p.ctx, began, older)
		time.Sleep(100 * time.Millisecond)
		require.False(t, w.isOpen("s-2"))
		p.pass()
		require.False(t, w.isOpen("s-2"))

		w.turn(model.VerdictGreen)
		for range 100 {
			p.pass()
			time.Sleep(10 * time.Millisecond)
		}
		require.Equal(t, map[string]int{"s-2": 1}, w.gone(), "the answers are good for the next snapshot")
		p.kill()
		p.leader.Wait()
	})
}
