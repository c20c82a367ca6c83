package rehearsal

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what happens into testdata")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	Clean()
	os.Exit(code)
}

// divider ends a script; what is expected follows.
const divider = "----\n"

// parseScript reads options, one a line.
func parseScript(t *testing.T, text string) Options {
	t.Helper()
	o := Default()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		if name == "fault" {
			o.Faults = append(o.Faults, value)
			continue
		}
		n, err := strconv.Atoi(value)
		require.NoError(t, err, line)
		switch name {
		case "pods":
			o.Pods = n
		case "shards":
			o.Shards = n
		case "copies":
			o.Copies = n
		case "max-unavailable":
			o.MaxUnavailable = n
		case "seed":
			o.Seed = uint64(n)
		default:
			t.Fatalf("%q is no option", line)
		}
	}
	return o
}

func timeline(r Rehearsal, everything bool) string {
	var b strings.Builder
	for _, e := range r.Timeline(everything) {
		b.WriteString(e.String() + "\n")
	}
	return b.String() + "\n" + r.Summary.String()
}

// TestGolden plays every script in testdata. Each begins with a comment that says
// what it shows; -update writes what happens, to be read as behaviour.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			script, want, ok := strings.Cut(string(data), divider)
			require.True(t, ok, "there is a line ----")
			require.True(t, strings.HasPrefix(script, "# "), "it begins with a comment")
			r, err := Run(parseScript(t, script))
			require.NoError(t, err)
			require.NoError(t, r.Summary.Err())
			got := timeline(r, false)
			if *update && got != want {
				require.NoError(t, os.WriteFile(file, []byte(script+divider+got), 0o644))
				return
			}
			require.Equal(t, want, got)
		})
	}
}
