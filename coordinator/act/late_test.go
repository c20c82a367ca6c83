package act

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// landsLate is a process whose first request of a kind, from when it may, is not answered in time,
// and carried out by the API server five seconds later, on what was read then. A person pauses the
// rollout in the meantime.
func landsLate(w *world, resource string, may func() bool, write func(call kubetest.Call) (carryOut func() error)) (p *process, landed func() error) {
	lost := false
	var came error
	p = intercepted(w, func(c kubetest.Call) error {
		if c.Verb != "patch" || c.Resource != resource || lost || !may() {
			return nil
		}
		lost = true
		carryOut := write(c)
		go func() {
			time.Sleep(5 * time.Second)
			came = carryOut()
		}()
		w.edit(pause)
		return context.DeadlineExceeded
	})
	return p, func() error {
		require.True(w.t, lost)
		return came
	}
}

// A write that opens a guard is carried out after the guard was looked at, and found closed.
func TestAnOpeningThatArrivesLateOpensNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pods := NewPods(w.server.Client(nil).Kubernetes, namespace)
		p, landed := landsLate(w, "pods", func() bool { return true }, func(c kubetest.Call) func() error {
			pod, _ := w.server.Pod(namespace, c.Name)
			cluster, _ := w.server.Cluster(namespace, name)
			seen, claim := seenOf(pod), w.claims()[0]
			return func() error {
				_, err := pods.open(context.Background(), seen, claim.ID, cluster.Status.Epoch)
				return err
			}
		})
		p.run(2 * time.Minute)
		require.ErrorIs(t, landed(), effect.ErrConflict)
		require.Empty(t, w.claims())
		require.Empty(t, w.gone())
		for _, pod := range w.pods {
			w.requireGuardClosed(pod)
		}
		w.requireClean()
	})
}

// The write that lowers the partition is carried out after the partition was found where it keeps
// the pod.
func TestLateLoweringFreesNoPod(t *testing.T) {
	byPartition(t, func(t *testing.T, w *world) {
		sets := NewSets(w.server.Client(nil).Kubernetes, namespace)
		prepared := func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.drained) > 0 }
		p, landed := landsLate(w, "statefulsets", prepared, func(kubetest.Call) func() error {
			seen := seenSetOf(w.set.get())
			return func() error {
				_, err := sets.move(context.Background(), seen, 2)
				return err
			}
		})
		p.run(time.Minute)
		if w.guard == "" {
			require.ErrorIs(t, landed(), effect.ErrSetChanged)
		}
		require.Empty(t, w.gone())
		require.Empty(t, w.claims())
		w.requireClean()
	})
}
