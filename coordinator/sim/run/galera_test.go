package run

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
)

// Members of Galera hold all invariants, and are synced in the end.
func TestGaleraSeeds(t *testing.T) {
	whole, outages := 0, 0
	for seed := *from; seed < *from+2**seeds; seed++ {
		r, err := Seed(seed, Options{Galera: true})
		require.NoError(t, err)
		for _, b := range r.Breaks {
			t.Errorf("seed %d: %s\n  %s", seed, b, r.Scenario)
		}
		require.Empty(t, r.Stuck, "seed %d", seed)
		whole += bytes.Count(r.Log, []byte("needs a full state transfer"))
		outages += bytes.Count(r.Log, []byte("there is a primary component again"))
	}
	require.Positive(t, whole, "no full state transfer")
	require.Positive(t, outages, "no component that was lost")
}

// Undisturbed, each member goes once, whatever it has to receive. Those that their controller takes in
// the first moments of a template are not counted.
func TestGaleraUndisturbed(t *testing.T) {
	for seed := *from; seed < *from+20; seed++ {
		r, err := Seed(seed, Options{Galera: true, Quiet: true})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d: %s", seed, r.Scenario)
		if r.Scenario.Guarded || r.Scenario.Rolls == "" {
			require.Equal(t, r.Scenario.Replicas, r.Removals, "seed %d: %s", seed, r.Scenario)
		}
	}
}

// Where many may be unavailable, the votes alone hold members.
func TestVotesHoldMembers(t *testing.T) {
	many := &Bug{cache: spec(unlimited)}
	for seed := *from; seed < *from+2**seeds; seed++ {
		r, err := Seed(seed, Options{Galera: true, Bug: many})
		require.NoError(t, err)
		for _, b := range r.Breaks {
			if b.Invariant[0] == 'G' {
				t.Errorf("seed %d: %s\n  %s", seed, b, r.Scenario)
			}
		}
	}
}

// Careless members are found out.
func TestBugsOfGaleraAreFound(t *testing.T) {
	for i := range Bugs {
		if Bugs[i].Finds[0] != 'G' {
			continue
		}
		found := false
		for seed := *from; seed < *from+20 && !found; seed++ {
			r, err := Seed(seed, Options{Galera: true, Bug: &Bugs[i]})
			require.NoError(t, err)
			found = slices.ContainsFunc(r.Breaks, func(b oracle.Break) bool { return b.Invariant == Bugs[i].Finds })
		}
		require.True(t, found, Bugs[i].Name)
	}
}

// Worlds of Galera have two members and an arbitrator at least, and faults that fit them.
func TestGaleraScenarios(t *testing.T) {
	sizes, arbitrators, short := map[int]bool{}, 0, 0
	for seed := uint64(1); seed < 1000; seed++ {
		s := NewScenario(seed, Options{Galera: true})
		sizes[s.Replicas] = true
		require.True(t, s.Replicas > 2 || s.Arbitrator)
		if s.Arbitrator {
			arbitrators++
		}
		if s.Keeps < 6*time.Second {
			short++
		}
		for _, f := range s.Faults {
			require.NotContains(t, []Class{Scale, Ailing}, f.Class)
		}
	}
	require.Len(t, sizes, 4)
	require.Greater(t, arbitrators, 200)
	require.Greater(t, short, 150)
}
