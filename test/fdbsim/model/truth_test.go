package model

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHolding checks that a process holds something until all of it is elsewhere, whether or not it
// is up.
func TestHolding(t *testing.T) {
	c := New(Spec{})
	require.True(t, c.Settle(24*time.Hour))
	require.Contains(t, c.Holding(), "fdb-1")
	c.Kill("fdb-1")
	require.Contains(t, c.Holding(), "fdb-1")
	c.Start("fdb-1")
	c.Exclude([]string{"locality_instance_id:fdb-1"}, false)
	require.True(t, c.Settle(24*time.Hour))
	require.NotContains(t, c.Holding(), "fdb-1")
	require.True(t, slices.IsSorted(c.Holding()))
	require.True(t, c.Truth().DataReached)
}
