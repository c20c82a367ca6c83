//go:build linux

package terminal

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgramsSeeATerminal(t *testing.T) {
	out, err := Run(exec.CommandContext(t.Context(), "sh", "-c", "test -t 1 && stty size; echo on stderr >&2"), 72, 20)
	require.NoError(t, err)
	require.Equal(t, "20 72\non stderr\n", out)

	out, err = Run(exec.CommandContext(t.Context(), "sh", "-c", "echo before; exit 3"), 80, 24)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode())
	require.Equal(t, "before\n", out)

	_, err = Run(exec.CommandContext(t.Context(), "/none"), 80, 24)
	require.Error(t, err)
}
