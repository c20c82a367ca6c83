package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Looking on changes nothing, and what is seen is what the log has.
func TestObserverChangesNothing(t *testing.T) {
	for seed := *from; seed < *from+3; seed++ {
		s := NewScenario(seed, Options{})
		alone, err := Play(s, nil)
		require.NoError(t, err)
		require.Empty(t, alone.Tally)
		var said []string
		decided := 0
		watched, err := Watched(s, Observer{
			Said: func(at time.Duration, who, what string) {
				said = append(said, fmt.Sprintf("%5d.%09d %-8s %s", at/time.Second, at%time.Second, who, what))
			},
			Decided: func(time.Duration, string, status.Decision) { decided++ },
		})
		require.NoError(t, err)
		require.Equal(t, string(alone.Log), string(watched.Log), "seed %d", seed)
		require.Equal(t, alone.Breaks, watched.Breaks)
		require.Positive(t, decided)
		log := string(watched.Log)
		for _, line := range said {
			require.Contains(t, log, line+"\n")
		}
		require.Less(t, len(said), strings.Count(log, "\n"), "decisions are told in another way")
		require.Len(t, watched.Tally.Went, watched.Removals)
	}
}

func TestTallyCountsWhatReallyWas(t *testing.T) {
	s := Scenario{Replicas: 4, Shards: [][]int{{0, 1, 2}, {1, 2, 3}}, MaxPods: 1, MaxShard: 1, Lag: 20 * time.Millisecond, Trip: time.Millisecond}
	nobody := Observer{Said: func(time.Duration, string, string) {}, Decided: func(time.Duration, string, status.Decision) {}}
	quiet, err := Watched(s, nobody)
	require.NoError(t, err)
	require.Empty(t, quiet.Breaks)
	require.ElementsMatch(t, []string{"db-0", "db-1", "db-2", "db-3"}, quiet.Tally.Went)
	require.Empty(t, quiet.Tally.Taken)
	require.Equal(t, Tally{Went: quiet.Tally.Went, Away: 1, ByHand: 1, Shard: quiet.Tally.Shard, Left: 2, Copies: 3}, quiet.Tally)

	s.Faults = []Fault{{Name: "delete-pod", Class: Outside, At: 4 * time.Second}}
	more, err := Watched(s, nobody)
	require.NoError(t, err)
	require.Empty(t, more.Breaks)
	require.Len(t, more.Tally.Taken, 1)
	require.Equal(t, 2, more.Tally.Away)
	require.Equal(t, 1, more.Tally.ByHand)
}

// Every named fault begins, does something that the log has, and breaks nothing.
func TestNamedFaults(t *testing.T) {
	s := Scenario{Replicas: 3, Shards: [][]int{{0, 1, 2}}, MaxPods: 1, MaxShard: 1, Lag: 20 * time.Millisecond, Trip: time.Millisecond}
	plain, err := Play(s, nil)
	require.NoError(t, err)
	last := ""
	for _, n := range NamedFaults {
		require.Less(t, last, n.Name, "they are in order")
		last = n.Name
		require.NotEmpty(t, n.Help)
		require.Contains(t, Classes, n.Class, n.Name)
		s.Faults = []Fault{{Name: n.Name, Class: n.Class, At: 4 * time.Second, For: n.For}}
		r, err := Play(s, nil)
		require.NoError(t, err)
		require.Empty(t, r.Breaks, n.Name)
		require.True(t, r.Hits[n.Class])
		require.Contains(t, string(r.Log), n.Name+" begins")
		require.NotEqual(t, undisturbed(plain.Log), undisturbed(r.Log), n.Name)
	}
	_, ok := ByName("earthquake")
	require.False(t, ok)
}

// undisturbed is a log without the lines about faults.
func undisturbed(log []byte) string {
	lines := strings.Split(string(log), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, " fault ") || strings.Contains(line, " world ")
	}), "\n")
}
