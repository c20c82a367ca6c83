package act

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

// adopts: pods without an agent are restarted for one. They have been ready since one went.
func (w *world) adopts(went *time.Time) {
	w.bare = map[types.UID]bool{}
	w.onLook = func(s *model.Snapshot) {
		s.Pools[0].Agents = true
		for i := range s.Pods {
			if !s.Pods[i].Agent {
				s.Pods[i].Since = model.At(*went)
			}
		}
	}
	w.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Adopt = model.AdoptAllow })
}

// The pod goes by itself while nothing gives new pods an agent. Its successor, on the volume that
// was called empty, can neither be emptied nor left as it is: it is restarted for an agent, not
// sooner than any other pod would be, and then replaced.
func TestASuccessorWithoutAnAgentIsRestartedForOne(t *testing.T) {
	race.Heavy(t) // it waits for a call that few of its cases have
	restarted := 0
	for at := 1; at < 20; at++ {
		inDiskWorld(t, func(t *testing.T, w *world) {
			calls, went := 0, time.Time{}
			w.adopts(&went)
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls == at {
					w.mu.Lock()
					went, w.bareNext = time.Now(), true
					w.mu.Unlock()
					w.vanish("s-2")
				}
				return nil
			})
			p.run(4 * time.Minute)
			object, _ := w.server.Pod(namespace, "s-2")
			w.mu.Lock()
			bare := w.bare[object.UID]
			w.mu.Unlock()
			if !bare || !slices.ContainsFunc(w.claims(), func(c model.Claim) bool { return c.UID == string(object.UID) && c.EmptiedAt != nil }) {
				return // it went with its volume, or was not called empty: then a person sees to it
			}
			restarted++
			newProcess(w, 0, false).run(8 * time.Minute)
			w.requireClean()
			require.True(t, w.done(), "gone at call %d: %s %+v", at, w.describe(), w.disks)
			require.Empty(t, w.handedOff)
		})
	}
	require.Positive(t, restarted)
}

// All agents are gone when the pod goes by itself, as no webhook answers. Nobody else can have looked at its
// successor, nor is one of them adopted while that is claimed, so it goes without.
func TestSuccessorWithoutAgentIsRestartedWhenNoneHasOne(t *testing.T) {
	race.Heavy(t)
	inDiskWorld(t, func(t *testing.T, w *world) {
		went := time.Time{}
		w.adopts(&went)
		p := intercepted(w, func(kubetest.Call) error {
			if w.writtenEmpty() > 0 && went.IsZero() {
				w.mu.Lock()
				went, w.bareNext = time.Now(), true
				for _, other := range []string{"s-0", "s-1"} {
					object, _ := w.server.Pod(namespace, other)
					w.bare[object.UID] = true
				}
				w.mu.Unlock()
				w.vanish("s-2")
			}
			return nil
		})
		p.run(4 * time.Minute)
		require.Equal(t, 1, w.writtenEmpty())
		require.Empty(t, w.gone(), "not sooner than any other pod would be")
		newProcess(w, 0, false).run(8 * time.Minute)
		w.requireClean()
		require.Empty(t, w.claims(), w.describe())
		volume, _ := w.server.VolumeClaim(namespace, diskOf("s-2"))
		require.False(t, w.disks.first[volume.UID])
		require.Equal(t, map[string]int{"s-2": 2}, w.gone(), "once for an agent, once for a volume")
	})
}

// The pod goes by itself when its newest template finds no node. Its successor, on the volume that was
// called empty, is corrected by the next template like any other pod, keeps its volume, and is then replaced.
func TestAnEmptiedPodIsCorrectedFirst(t *testing.T) {
	race.Heavy(t) // it waits for a call that few of its cases have
	corrected := 0
	for at := 1; at < 20; at++ {
		inDiskWorld(t, func(t *testing.T, w *world) {
			calls := 0
			w.bare, w.broken["v2"] = map[types.UID]bool{}, true
			w.onLook = func(s *model.Snapshot) {
				for i := range s.Pods {
					if pod := &s.Pods[i]; w.bare[types.UID(pod.UID)] && pod.Phase != model.PodPhaseTerminating {
						pod.Agent, pod.Phase, pod.Problem, pod.Report, pod.MustReplace = true, model.PodPhasePending, model.ProblemUnschedulable, nil, nil
					}
				}
			}
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls == at {
					w.mu.Lock()
					w.update, w.bareNext = "v2", true
					w.mu.Unlock()
					w.vanish("s-2")
				}
				return nil
			})
			p.run(time.Minute)
			object, _ := w.server.Pod(namespace, "s-2")
			emptied := slices.ContainsFunc(w.claims(), func(c model.Claim) bool { return c.UID == string(object.UID) && c.EmptiedAt != nil })
			before := w.gone()["s-2"]
			w.mu.Lock()
			w.update = "v3"
			w.mu.Unlock()
			newProcess(w, 0, false).run(8 * time.Minute)
			if !emptied {
				return
			}
			corrected++
			w.requireClean()
			require.True(t, w.done(), "gone at call %d: %s %+v", at, w.describe(), w.disks)
			require.Equal(t, before+2, w.gone()["s-2"], "once for its template, once for a volume")
		})
	}
	require.Positive(t, corrected)
}
