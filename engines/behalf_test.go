package engines_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/memory"
)

func TestHandoffOnBehalfLeavesNothingBehind(t *testing.T) {
	db := memory.New(memory.Options{Step: 1}, "a", "b", "c")
	db.AddGroup("s1", "a", "b", "c")
	db.AddGroup("s2", "a", "b", "c")
	order := engines.Order{Kind: engines.Handoff, Claim: "x", Node: "a"}
	rounds := 0
	for ; rounds < 5; rounds++ {
		progress, err := engines.HandoffOnBehalf(t.Context(), db.Engine("b"), order)
		require.NoError(t, err)
		if progress.State == engines.ProgressDone {
			break
		}
		require.Equal(t, engines.ProgressRunning, progress.State)
	}
	require.Less(t, rounds, 5)
	require.Zero(t, db.Leads("a"))
	require.Empty(t, db.Marks())
}
