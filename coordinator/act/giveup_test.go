package act

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/test/race"
)

// edit changes the DatabaseCluster as a person would, who tries again when a coordinator
// has written between. It may be called from any goroutine.
func (w *world) edit(change func(*v1alpha1.DatabaseCluster)) {
	clusters := w.server.Client(nil).Clusters.DatabaseClusters(namespace)
	assert.NoError(w.t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cluster, err := clusters.Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(cluster)
		_, err = clusters.Update(w.t.Context(), cluster, metav1.UpdateOptions{})
		return err
	}))
}

// gone says how often each pod was removed.
func (w *world) gone() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.removed)
}

// total of the pods that were removed.
func (w *world) total() int {
	n := 0
	for _, times := range w.gone() {
		n += times
	}
	return n
}

func (w *world) claims() []model.Claim {
	cluster, _ := w.server.Cluster(namespace, name)
	return cluster.Status.Claims
}

func pause(c *v1alpha1.DatabaseCluster) {
	c.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
}

// A pause that comes at any request is obeyed: either the pod had gone, or it stays, with its guard
// closed, its drain undone and no claim left.
func TestPauseAtEveryCall(t *testing.T) {
	for at := 1; at < 25; at++ {
		if !race.Part(at, 15) {
			continue
		}
		inWorld(t, func(t *testing.T, w *world) {
			calls, gone := 0, 0
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls == at {
					w.edit(pause)
					gone = w.total()
				}
				return nil
			})
			p.run(time.Minute)
			w.requireClean()
			require.Empty(t, w.claims(), "pause at call %d", at)
			for _, pod := range w.pods {
				w.requireGuardClosed(pod)
			}
			require.LessOrEqual(t, w.total(), gone+1)
		})
	}
}

// A changed decision: the template goes back while the first pod is drained.
func TestPodThatNoLongerNeedsToGoStays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDrain = func(effect.Target, effect.Order) (effect.Progress, error) {
			w.update = "v1"
			return effect.Progress{State: model.DrainRunning}, nil
		}
		p := newProcess(w, 0, false)
		p.run(30 * time.Second)
		require.Empty(t, w.gone())
		require.Empty(t, w.claims())
		w.requireClean()
	})
}

// A leader dies with a pod drained, and the template goes back, so that nobody has to go any more.
// What the drain changed would stay, and the database would never be as it was, which the next
// rollout waits for.
func TestStuckOnLeftOverSettings(t *testing.T) {
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
		w.mu.Lock()
		left := len(w.applied)
		w.update = "v1"
		w.mu.Unlock()
		require.Equal(t, 1, left)

		newProcess(w, 0, false).run(time.Minute)
		require.Empty(t, w.gone())
		require.Empty(t, w.claims())
		w.requireClean()
	})
}

func TestTimeoutReleasesNoClaim(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.onDrain = func(effect.Target, effect.Order) (effect.Progress, error) {
			return effect.Progress{State: model.DrainRunning, Detail: "slow"}, nil
		}
		p := newProcess(w, 0, false)
		go p.run(time.Hour)
		time.Sleep(time.Second)
		begun := w.claims()
		require.Len(t, begun, 1)
		for range 3500 {
			time.Sleep(time.Second)
			now := w.claims()
			require.Len(t, now, 1, "the claim stays however long it takes")
			require.Equal(t, begun[0].ID, now[0].ID, "and so does its claim")
		}
		require.Empty(t, w.gone())
	})
}

func TestOnTimeoutProceed(t *testing.T) {
	race.Heavy(t)
	for _, fate := range []model.DataFate{model.DataKeep, model.DataLose} {
		inWorld(t, func(t *testing.T, w *world) {
			w.edit(func(c *v1alpha1.DatabaseCluster) {
				c.Spec.Drain.OnTimeout, c.Spec.Drain.TimeoutSeconds, c.Spec.Drain.EvacuateTimeoutSeconds = model.TimeoutProceed, 60, 60
				c.Spec.Drain.Data.Restart = fate
			})
			w.onDrain = func(effect.Target, effect.Order) (effect.Progress, error) {
				return effect.Progress{State: model.DrainRunning}, nil
			}
			p := newProcess(w, 0, false)
			p.run(10 * time.Minute)
			if fate == model.DataLose {
				require.Empty(t, w.gone(), "data would be lost")
				return
			}
			require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.gone())
		})
	}
}

// A drained pod that is held for long gives its claim back; others may need the room.
func TestHeldPodGivesItsClaimBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDrain = func(effect.Target, effect.Order) (effect.Progress, error) {
			w.verdict = model.VerdictRed // something fails meanwhile
			return effect.Progress{State: model.DrainDone}, nil
		}
		p := newProcess(w, 0, false)
		p.run(20 * time.Second)
		require.Len(t, w.claims(), 1)
		second := newProcess(w, 0, false)
		second.run(2 * time.Minute)
		require.Empty(t, w.gone())
		require.Empty(t, w.claims())
		w.requireClean()
	})
}

// What other clusters leave no room for is not claimed, and asked for again.
func TestNothingIsClaimedWithoutAGrant(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		defer p.leader.Wait()
		p.leader.room = new(0)
		out, ok := p.pass()
		require.True(t, ok)
		require.Empty(t, out.Edits.Add)
		require.Empty(t, w.claims())
		p.leader.room = new(1)
		_, ok = p.pass()
		require.True(t, ok)
		require.Len(t, w.claims(), 1)
	})
}

// Agents that hang while a pod is to be looked at: it does not go.
func TestNobodyGoesUnseen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDrain = func(effect.Target, effect.Order) (effect.Progress, error) {
			w.frozen = true
			return effect.Progress{State: model.DrainDone}, nil
		}
		p := newProcess(w, 0, false)
		p.run(5 * time.Minute)
		require.Empty(t, w.gone())
	})
}

func TestBrokenRevisionIsCorrected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broken["v2"] = true
		newProcess(w, 0, false).run(5 * time.Minute)
		require.Equal(t, map[string]int{"s-2": 1}, w.gone())
		w.mu.Lock()
		w.update = "v3"
		w.mu.Unlock()
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireClean()
		require.True(t, w.done(), w.describe())
		require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 2}, w.gone())
	})
}
