package fdbcluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/client"
)

// TestStatsAreWhatTheClientSays checks that the line that the simulated client prints is
// understood.
func TestStatsAreWhatTheClientSays(t *testing.T) {
	said := client.Stats{Writes: 12, Reads: 13, Failed: 1, Slowest: 1500 * time.Millisecond, Lost: 2, LastLost: `key-3: "7" instead of "9"`}
	got, err := parseStats(said.String())
	require.NoError(t, err)
	require.Equal(t, Stats{Writes: 12, Reads: 13, Failed: 1, Slowest: 1500 * time.Millisecond, Lost: 2}, got)

	_, err = parseStats("fdbsim client: the world is unavailable")
	require.ErrorContains(t, err, "the world is unavailable")
}
