package act

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Force hands the pool to its controller, whatever the database says: guards
// open, no line, and nothing is evicted by us.
func TestForce(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
				w.byForce = true
				w.turn(model.VerdictRed)
				w.freeze(true) // no agent answers, either
				p := newProcess(w, 0, false)
				p.run(20 * time.Second)
				require.Empty(t, w.gone())

				w.annotateSet(v1alpha1.AnnotationForce, "true")
				q := newProcess(w, 0, false)
				q.run(40 * time.Second)
				w.freeze(false)
				w.turn(model.VerdictGreen)
				q = newProcess(w, 0, false)
				q.run(5 * time.Minute)
				require.Zero(t, q.writes["evict pods/eviction"])
				require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.gone())
				_, _, took := w.set.seen()
				require.Equal(t, 3, took)
				require.Empty(t, w.wrong)
				require.Zero(t, partitionIn(w.set.get()))

				w.annotateSet(v1alpha1.AnnotationForce, nil)
				newProcess(w, 0, false).run(time.Minute)
				require.True(t, w.done(), w.describe())
			})
		})
	}
}

// The controller of an OrderedReady pool takes nobody while a pod is not Ready. So what is broken there is
// removed by Rollcall, once, and the controller takes the others.
func TestForceCorrectsWhatItsControllerWaitsFor(t *testing.T) {
	for how, way := range ways {
		for _, ordered := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, ordered %t", how, ordered), func(t *testing.T) {
				inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
					w.set.ordered.Store(ordered)
					object, _ := w.server.Pod(namespace, "s-0")
					w.mu.Lock()
					w.byForce, w.maxUnavailable = true, 2 // itself, and whom the controller takes
					w.live[object.UID] = false
					w.onLook = func(s *model.Snapshot) {
						if p := podNamed(*s, "s-0"); p.UID == string(object.UID) && p.Phase == model.PodPhaseStarted {
							p.Phase, p.Problem = model.PodPhaseFailed, model.ProblemCrashLoop
						}
					}
					w.mu.Unlock()
					w.annotateSet(v1alpha1.AnnotationForce, "true")
					p := newProcess(w, 0, false)
					p.run(2 * time.Minute)
					require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.gone())
					require.Equal(t, map[bool]int{true: 1}[ordered], p.writes["evict pods/eviction"])
					require.Empty(t, w.wrong)
				})
			})
		}
	}
}

// Who was claimed by force, and has not gone when the force ends, stays: it was never drained.
func TestForceThatEnds(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
				w.set.sleep(true)
				w.turn(model.VerdictRed)
				w.annotateSet(v1alpha1.AnnotationForce, "true")
				w.set.observe()
				newProcess(w, 0, false).run(5 * time.Second)
				require.Len(t, w.claims(), 3)
				w.annotateSet(v1alpha1.AnnotationForce, nil)
				p := newProcess(w, 0, false)
				for range 20 {
					w.set.observe()
					p.run(time.Second)
					p = newProcess(w, 0, false)
				}
				require.Empty(t, w.claims())
				w.set.sleep(false)
				time.Sleep(5 * time.Second)
				require.Empty(t, w.gone())
				w.requireClean()
			})
		})
	}
}

// A person who sets the partition orders where to stop.
func TestOrderedPartition(t *testing.T) {
	inRollingWorld(t, model.RollingUpdateByPartition, true, func(t *testing.T, w *world) {
		w.setPartition(1)
		newProcess(w, 0, false).run(2 * time.Minute)
		require.Equal(t, map[string]int{"s-1": 1, "s-2": 1}, w.gone())
		require.EqualValues(t, 1, partitionIn(w.set.get()))
		w.requireClean()

		w.setPartition(0)
		newProcess(w, 0, false).run(2 * time.Minute)
		w.requireRolled(1)
	})
}

// A third template in mid-rollout: a guard keeps the old pods, and without one the
// line goes up.
func TestNewTemplateInMidRollout(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
				p := newProcess(w, 0, false)
				p.run(11 * time.Second)
				require.Equal(t, 1, w.gone()["s-2"])
				w.set.sleep(true)
				w.retemplate("v3")
				if way.guarded {
					w.set.sleep(false)
				} else {
					w.set.observe()
					p = newProcess(w, 0, false)
					require.NoError(t, p.start())
					for range 20 {
						p.pass()
						w.set.observe()
						time.Sleep(50 * time.Millisecond)
					}
					w.set.sleep(false)
				}
				newProcess(w, 0, false).run(5 * time.Minute)
				w.requireClean()
				require.True(t, w.done(), w.describe())
			})
		})
	}
}
