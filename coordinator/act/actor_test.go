package act

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/race"
)

func TestRollsOutWithFiveWritesPerRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p := newProcess(w, 0, false)
		p.run(5 * time.Minute)
		w.requireRolled(1)
		total := -1 // the epoch is raised once
		for _, n := range p.writes {
			total += n
		}
		require.LessOrEqual(t, total, 5*len(w.pods), "%v", p.writes)
		require.Equal(t, 3, p.writes["evict pods/eviction"])
		require.Zero(t, p.writes["delete pods"])
		for _, call := range p.calls {
			require.NotContains(t, call, "list")
		}
	})
}

// Every request of a rollout is one after which, or before which, the process
// may die. A successor goes on, nothing goes twice, and nothing is left behind.
func TestResumesAfterACrashAtEveryCall(t *testing.T) {
	resumesAfterACrashAtEveryCall(t, newWorld, false, true)
}

// resumesAfterACrashAtEveryCall crashes before each call, or late: after it was
// carried out, its answer lost.
func resumesAfterACrashAtEveryCall(t *testing.T, newWorld func(*testing.T) *world, lates ...bool) {
	var calls []string
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p := newProcess(w, 0, false)
		p.run(5 * time.Minute)
		w.requireRolled(1)
		calls = p.calls
	})
	require.Greater(t, len(calls), 20)
	for at, what := range calls {
		for i, late := range lates {
			if !race.Part(at+i, 15) {
				continue
			}
			when := map[bool]string{false: "before", true: "after"}[late]
			t.Run(fmt.Sprintf("%s call %d %s", when, at+1, what), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					first := newProcess(w, at+1, late)
					first.run(5 * time.Minute)
					if !first.dead {
						// What two moves write at one instant may be one request or two.
						require.Less(t, len(first.calls), at+1)
						require.Greater(t, at+1, len(calls)*9/10)
					}
					newProcess(w, 0, false).run(5 * time.Minute)
					w.requireRolled(1)
				})
			})
		}
	}
}
