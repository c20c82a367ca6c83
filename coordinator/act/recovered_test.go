package act

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/test/race"
)

// A pod is claimed without a drain because it is broken, and serves again at any moment before it
// is removed: it is drained like any other.
func TestRecoveredPodIsDrained(t *testing.T) {
	for at := 1; at < 16; at++ {
		if !race.Part(at, 15) {
			continue
		}
		inWorld(t, func(t *testing.T, w *world) {
			w.broken["v2"] = true
			newProcess(w, 0, false).run(2 * time.Minute)
			require.Equal(t, map[string]int{"s-2": 1}, w.gone())
			w.mu.Lock()
			w.update = "v3"
			w.mu.Unlock()
			calls, well := 0, false
			var p *process
			before := func(what string) (func() error, error) {
				unprepared := len(w.claims()) == 1 && w.claims()[0].Prepare == model.PrepareNone
				if unprepared && !strings.HasPrefix(what, "evict") {
					if calls++; calls == at {
						well = true
						w.heal("s-2")
					}
				}
				return p.count(what)
			}
			p = newProcess(w, 0, false)
			p.agents.before = before
			p.client = w.server.Client(func(c kubetest.Call) (func() error, error) { return before(c.Verb + " " + c.Resource) })
			p.run(5 * time.Minute)
			w.mu.Lock()
			w.broken["v2"] = true // only who was removed undrained while it served is accused
			w.mu.Unlock()
			w.requireClean()
			require.True(t, w.done(), w.describe())
			require.True(t, well || at > 4, "at %d", at)
		})
	}
}

// heal makes a broken pod serve.
func (w *world) heal(pod string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.broken, "v2")
	if object, ok := w.server.Pod(namespace, pod); ok && object.DeletionTimestamp == nil {
		w.live[object.UID] = true
	}
}

// A drain does not hold up a pod that breaks in the meantime, and is asked for again when it serves
// once more.
func TestPodThatBreaksGoesWithoutDrain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDrain = func(to effect.Target, _ effect.Order) (effect.Progress, error) {
			return effect.Progress{State: model.DrainRunning, Detail: "its database does not answer"}, nil
		}
		w.onLook = func(s *model.Snapshot) {
			if p := &s.Pods[2]; p.Revision == "v1" && len(s.Cluster.Status.Claims) > 0 && time.Since(s.Cluster.Status.Claims[0].StartedAt.Time) > 5*time.Second {
				p.Phase, p.Problem, p.Report = model.PodPhaseFailed, model.ProblemCrashLoop, nil
				s.Groups[0].Members[2].State, s.Groups[0].Members[2].Leader = model.MemberDown, false
			}
		}
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		for range 200 {
			p.pass()
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, 1, w.gone()["s-2"])
		p.kill()
		p.leader.Wait()
	})
}
