package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
)

// What the README shows of its first command is what that prints: each line, in this order.
func TestReadmeShowsTheRehearsal(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "\n    bin/rollcall rehearse")
	require.True(t, ok, "the README has the command")
	args, rest, _ := strings.Cut(rest, "\n")
	_, block, _ := strings.Cut(rest, "\n\n     0:")
	block, _, ok = strings.Cut("     0:"+block, "\n\n")
	require.True(t, ok)

	streams, _, out, stderr := genericiooptions.NewTestIOStreams()
	require.Equal(t, cli.ExitDone, run(t.Context(), append([]string{"rollcall", "rehearse"}, strings.Fields(args)...), streams), stderr)
	require.Empty(t, firstMissing(block, out.String()), "the README shows this; it is not printed, or before the line before it")
}

// firstMissing is the first line of the indented block that the output does not have after those before it.
func firstMissing(block, output string) string {
	printed := strings.Split(output, "\n")
	for _, line := range strings.Split(block, "\n") {
		line = strings.TrimPrefix(line, "    ")
		if line == "..." {
			continue
		}
		at := slices.Index(printed, line)
		if at < 0 {
			return line
		}
		printed = printed[at+1:]
	}
	return ""
}
