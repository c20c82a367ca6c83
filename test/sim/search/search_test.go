package search

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// `make search` goes further.
func TestNothingIsFoundBroken(t *testing.T) {
	r := Run(Options{Steps: 3, Lead: 14, Terms: 1})
	require.Empty(t, r.Broken, "%s", r)
	require.Greater(t, r.Interleavings, uint64(500), "%s", r)
}

// Each planted bug is found, with the fewest steps to it.
func TestCarelessIsFound(t *testing.T) {
	for _, bug := range Bugs {
		t.Run(bug.Name, func(t *testing.T) {
			r := bug.Find()
			require.Contains(t, r.Broken, bug.Finds, "%s", r)
			require.Len(t, r.Trace, bug.Steps, "%s", r)
		})
	}
}
