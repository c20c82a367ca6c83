package act

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/test/race"
)

// handBack makes the first drained pod the leader again, as another tool might. An agent that is
// asked to drain it hands over again.
func (w *world) handBack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range w.pods {
		if object, ok := w.server.Pod(namespace, pod); ok && object.DeletionTimestamp == nil && w.drained[string(object.UID)] {
			w.handed = string(object.UID)
			return true
		}
	}
	return false
}

// handOver is what a drain does about that. The world is locked.
func (w *world) handOver(to effect.Target, rounds int) effect.Progress {
	if w.handed != to.UID {
		return effect.Progress{State: model.DrainDone}
	}
	if w.handings++; w.handings%rounds == 0 {
		w.handed = ""
	}
	return effect.Progress{State: model.DrainRunning, Detail: "still leads books/1"}
}

// handingBack is a process during which that happens once, at the given request or soon after.
func (w *world) handingBack(at int) (p *process, given *atomic.Bool) {
	var mu sync.Mutex
	calls, given := 0, new(atomic.Bool)
	before := func(what string) (func() error, error) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls >= at && !given.Load() && !strings.HasPrefix(what, "evict") {
			given.Store(w.handBack())
		}
		return p.count(what)
	}
	p = newProcess(w, 0, false)
	p.agents.before = before
	p.client = w.server.Client(func(c kubetest.Call) (func() error, error) { return before(c.Verb + " " + c.Resource) })
	return p, given
}

// Somebody makes a drained pod the leader again at any moment before it is removed: it is drained
// again, and never goes as the leader.
func TestPodThatLeadsAgainIsDrainedAgain(t *testing.T) {
	for at := 1; at < 25; at++ {
		if !race.Part(at, 15) {
			continue
		}
		inWorld(t, func(t *testing.T, w *world) {
			w.onDrain = func(to effect.Target, _ effect.Order) (effect.Progress, error) { return w.handOver(to, 2), nil }
			p, given := w.handingBack(at)
			p.run(5 * time.Minute)
			w.requireRolled(1)
			require.True(t, given.Load())
		})
	}
}

// Somebody makes it the leader again and again: that is said, it does not go, and its
// claim does not stay for ever.
func TestDrainThatNeverLastsIsGivenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDrain = func(to effect.Target, _ effect.Order) (effect.Progress, error) { return w.handOver(to, 2), nil }
		p := intercepted(w, func(c kubetest.Call) error {
			if c.Verb+" "+c.Resource == "patch pods" { // its guard is opened, or closed again
				w.handBack()
			}
			return nil
		})
		require.NoError(t, p.start())
		waits, rests := map[string]bool{}, map[model.Rule]bool{}
		for range 300 {
			out, leads := p.pass()
			require.True(t, leads)
			for _, why := range out.Waiting {
				waits[why] = true
			}
			rests[p.found("s-2")] = true
			time.Sleep(100 * time.Millisecond)
		}
		require.Empty(t, w.gone())
		require.True(t, rests[model.RuleVeto], "it is left alone, and for a reason with a name")
		require.Contains(t, fmt.Sprint(waits), "it is no longer drained: it has been made the leader of books/1")
		require.Contains(t, fmt.Sprint(waits), "it was drained 6 times, and that never lasted: ")
		p.kill()
		p.leader.Wait()
	})
}

// A database that is merely slow to confirm is waited for, and goes: it is asked once, and
// not for the same again and again.
func TestASlowConfirmationIsWaitedFor(t *testing.T) {
	for _, takes := range []time.Duration{3 * time.Second, 6 * time.Second, 25 * time.Second,
		confirmFor + 3*firstRetry/2, // it is over between two calls
	} {
		t.Run(takes.String(), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				anew := w.slowToConfirm(takes)
				newProcess(w, 0, false).run(5 * time.Minute)
				w.requireRolled(1)
				require.Equal(t, 3, *anew, "once for each pod")
			})
		})
	}
}

// slowToConfirm makes every look at a drain take so long, and counts them.
func (w *world) slowToConfirm(takes time.Duration) (anew *int) {
	var began time.Time
	anew = new(int)
	w.onDrain = func(_ effect.Target, order effect.Order) (effect.Progress, error) {
		if order.Anew && time.Since(began) >= takes { // an agent that looks already goes on
			began = time.Now()
			*anew++
		}
		if time.Since(began) < takes {
			return effect.Progress{State: model.DrainRunning, Detail: "looks"}, nil
		}
		return effect.Progress{State: model.DrainDone}, nil
	}
	return anew
}

// A database that does not confirm in the time that a drain may take counts as one that is not
// drained any more.
func TestAConfirmationThatNeverComesIsALapse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slowToConfirm(time.Hour)
		w.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Drain.TimeoutSeconds = 60 })
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		words := map[string]bool{}
		for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(100 * time.Millisecond) {
			out, leads := p.pass()
			require.True(t, leads)
			words[out.Waiting["s-2"]] = true
			if time.Since(began) < 55*time.Second {
				require.NotContains(t, fmt.Sprint(words), "not drained any more")
			}
		}
		require.Contains(t, fmt.Sprint(words), "its agent looks whether it is still drained: looks")
		require.Contains(t, fmt.Sprint(words), "it is no longer drained: nobody has confirmed it for 1m0s: looks")
		require.Empty(t, w.gone())
		p.kill()
		p.leader.Wait()
	})
}
