package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Recording what is written changes nothing.
func TestWritesAreRecorded(t *testing.T) {
	for seed := *from; seed < *from+3; seed++ {
		plain, err := Seed(seed, Options{})
		require.NoError(t, err)
		require.Empty(t, plain.Writes)
		recorded, err := Seed(seed, Options{Record: true})
		require.NoError(t, err)
		require.True(t, recorded.Same(plain), "seed %d", seed)
		went := 0
		for _, w := range recorded.Writes {
			if strings.Contains(w.What, " evicted by ") || strings.Contains(w.What, " deleted by ") {
				went++
			}
		}
		require.Equal(t, recorded.Removals, went)
	}
}

// What an undisturbed rollout writes for one pod, and for a partition.
func TestWritesOfARollout(t *testing.T) {
	s := Scenario{Replicas: 2, Shards: [][]int{{0, 1}}, MaxPods: 1, MaxShard: 1, Guarded: true, Lag: 20 * time.Millisecond, Trip: time.Millisecond, Age: aged}
	require.Equal(t, []string{
		"claimed: Restart for Outdated, drain Handoff, before its turn false, from v1 to v2, phase Claimed",
		"ordered to plan by c1",
		"claim is Restart, drain Handoff, in epoch 1, phase Draining",
		"ordered to drain by c1",
		"label rollcall.dev/guard=open",
		"annotation rollcall.dev/claim true",
		"annotation rollcall.dev/epoch true",
		"evicted by c1",
		"claim is Restart, drain Handoff, in epoch 1, phase Gone",
		"ordered to restore by c1",
		"released in phase Gone",
	}, writesOf(t, s, "db-1"))
	s.Rolls = model.RollingUpdateByPartition
	require.Contains(t, writesOf(t, s, "db-1"), "claimed: LowerPartition for Outdated, drain Handoff, before its turn false, from v1 to v2, phase Claimed")
	lines := slices.DeleteFunc(writesOf(t, s, "db"), func(what string) bool { return !strings.HasPrefix(what, "partition ") })
	require.Equal(t, []string{"partition 1", "partition 0", "partition 1000000"}, lines)
}

func writesOf(t *testing.T, s Scenario, object string) []string {
	t.Helper()
	r, err := play(s, Options{Record: true}, nil)
	require.NoError(t, err)
	require.Empty(t, r.Breaks)
	var out []string
	for _, w := range r.Writes {
		if what, ok := strings.CutPrefix(w.What, object+" "); ok {
			out = append(out, what)
		}
	}
	return out
}
