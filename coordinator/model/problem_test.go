package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever reads the name of a problem finds out what it means and what to do.
func TestEveryProblemHasAdvice(t *testing.T) {
	for _, p := range []Problem{ProblemCrashLoop, ProblemStartupProbe, ProblemImagePull, ProblemConfig, ProblemUnschedulable, ProblemInit, ProblemSidecar, ProblemVolume, ProblemNodeGone, ProblemStuckTerminating, ProblemEnded} {
		require.NotEmpty(t, p.Wrong(), p)
		require.NotEmpty(t, p.Advice(), p)
	}
	require.Empty(t, Problem("Weather").Wrong())
}
