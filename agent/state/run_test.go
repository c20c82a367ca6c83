package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Runs of an agent are numbered upwards in the order in which they are, whatever the
// node's clock does.
func TestRunsAreNumberedUpwards(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := Store{t.TempDir(), "uid"}
	next := func(at time.Time) uint64 {
		n, err := s.NextRun(at)
		require.NoError(t, err)
		return n
	}
	first := next(now)
	require.EqualValues(t, now.UnixNano(), first)
	require.Equal(t, first+1, next(now.Add(-time.Hour)), "its clock went back")
	require.Equal(t, first+2, next(now.Add(-100*365*24*time.Hour)), "to before 1970")
	require.EqualValues(t, now.Add(time.Minute).UnixNano(), next(now.Add(time.Minute)))
	other, err := Store{s.Dir, "uid-2"}.NextRun(now)
	require.NoError(t, err)
	require.Equal(t, first, other, "another pod's")

	// Without a state that can be read there is the clock, and the agent runs.
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, runFile), nil, 0o600))
	n, err := s.NextRun(now)
	require.ErrorContains(t, err, runFile)
	require.Equal(t, first, n)
	require.Equal(t, first+1, next(now), "it is there again")
	n, err = Store{}.NextRun(now)
	require.NoError(t, err)
	require.Equal(t, first, n)
}
