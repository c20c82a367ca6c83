package policy

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

var update = flag.Bool("update", false, "write what the policy answers into testdata")

const divider = "\n----\n"

// readGolden splits a script into its snapshot and the plan that it expects.
func readGolden(t testing.TB, file string) (snapshot []byte, plan string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	before, after, ok := bytes.Cut(data, []byte(divider))
	require.True(t, ok, "%s has no line ----", file)
	return before, string(after)
}

func decodeYAML(t testing.TB, text []byte) model.Snapshot {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	s, err := model.Decode(data)
	require.NoError(t, err)
	return s
}

func goldenFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func goldenSnapshots(t testing.TB) map[string]model.Snapshot {
	t.Helper()
	all := map[string]model.Snapshot{}
	for _, file := range goldenFiles(t) {
		text, _ := readGolden(t, file)
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = decodeYAML(t, text)
	}
	return all
}

// TestGolden decides every script in testdata. Each begins with a comment that
// says what it stands for.
func TestGolden(t *testing.T) {
	for _, file := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, want := readGolden(t, file)
			require.True(t, bytes.HasPrefix(text, []byte("# ")), "it begins with a comment")
			got := annotated(Decide(decodeYAML(t, text)))
			if *update && got != want {
				require.NoError(t, os.WriteFile(file, []byte(string(text)+divider+got), 0o644))
				return
			}
			require.Equal(t, want, got)
		})
	}
}

// annotated is the plan's text with the notes of each step below it.
func annotated(p model.Plan) string {
	var b strings.Builder
	step := 0
	for line := range strings.Lines(p.Text()) {
		b.WriteString(line)
		if !strings.HasPrefix(line, "go ") {
			continue
		}
		s := p.Steps[step]
		step++
		for _, note := range s.Notes {
			b.WriteString("note   " + s.Pod + " " + note + "\n")
		}
	}
	return b.String()
}
