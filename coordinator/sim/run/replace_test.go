package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Databases whose pods are replaced hold all invariants, too, under all faults.
func TestReplacingSeeds(t *testing.T) {
	discards := 0
	for seed := *from; seed < *from+*seeds/2; seed++ {
		r, err := Seed(seed, Options{Replace: true})
		require.NoError(t, err)
		for _, b := range r.Breaks {
			t.Errorf("seed %d: %s\n  %s", seed, b, r.Scenario)
		}
		discards += r.Discards
	}
	require.Greater(t, discards, int(*seeds)/2)
}

// Undisturbed, every pod goes once, and with it its volume.
func TestReplacesUndisturbed(t *testing.T) {
	for seed := *from; seed < *from+5; seed++ {
		r, err := Seed(seed, Options{Quiet: true, Replace: true})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
		require.Equal(t, r.Scenario.Replicas, r.Removals, "seed %d", seed)
		require.Equal(t, r.Scenario.Replicas, r.Discards, "seed %d", seed)
	}
}

// Where a database moves nothing and says that nothing is left, the oracle tells.
func TestHollowEvacuationIsFound(t *testing.T) {
	s := NewScenario(*from, Options{Quiet: true, Replace: true})
	s.Hollow = true
	r, err := Play(s, nil)
	require.NoError(t, err)
	require.NotEmpty(t, r.Breaks)
	require.Equal(t, "V1", r.Breaks[0].Invariant)
}
