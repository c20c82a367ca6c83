package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever reads the name of a problem finds out what it means and what to do.
func TestEveryProblemHasAdvice(t *testing.T) {
	for _, p := range []Problem{CrashLoop, StartupProbe, ImagePull, BadConfig, Unschedulable, InitFailed, SidecarFailed, VolumeStuck, NodeGone, StuckEnding, Ended} {
		require.NotEmpty(t, p.Wrong(), p)
		require.NotEmpty(t, p.Advice(), p)
	}
	require.Empty(t, Problem("Weather").Wrong())
}
