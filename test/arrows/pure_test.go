package arrows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCoreIsPure checks that all is decided by functions that ask no clock, start nothing and
// keep nothing, in packages that import nothing but the standard library and each other.
func TestTheCoreIsPure(t *testing.T) {
	requirePure(t, "coordinator/rollout", "coordinator/rollout/effect", "coordinator/progress", "coordinator/policy", "coordinator/model")
	requirePure(t, "coordinator/rollout/effect", "coordinator/model")
	requirePure(t, "coordinator/progress", "coordinator/policy", "coordinator/model")
}

// requirePure: a package is pure, and imports no more than some others.
func requirePure(t *testing.T, core string, others ...string) {
	t.Helper()
	packages, err := List(root, "./"+core)
	require.NoError(t, err)
	looked := false
	for _, p := range packages {
		if p.ImportPath != Module+"/"+core {
			continue
		}
		looked = true
		for _, imported := range p.Imports {
			if strings.Contains(imported, ".") {
				require.Contains(t, others, strings.TrimPrefix(imported, Module+"/"), core)
			}
		}
	}
	require.True(t, looked)
	files, err := filepath.Glob(filepath.Join(root, core, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		impure, err := Impure(filepath.Base(file), source)
		require.NoError(t, err)
		require.Empty(t, impure)
	}
}

func TestImpureIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"import \"sync\"": "imports sync", "import x \"os\"": "imports os",
		"func f() { _ = time.Now() }": "time.Now", "func f() { g(time.Since) }": "time.Since",
		"func f() { go g() }": "goroutine", "func f(c chan int) {}": "channel", "func f() { select {} }": "channel",
		"var n int": "variable", "var m = map[string]bool{}": "variable",
		"var ErrGone = errors.New(\"gone\")": "", "var order = []string{\"a\", \"b\"}": "", "var x = rand.New(nil)": "variable", "const n = time.Second": "", "import \"log/slog\"": "",
		"func f(now time.Time) time.Time { return now.Add(time.Second) }": "", "func f(d time.Duration) { d.Since() }": "",
	} {
		found, err := Impure("x.go", []byte("package x\n"+text+"\n"))
		require.NoError(t, err, text)
		if want == "" {
			require.Empty(t, found, text)
			continue
		}
		require.NotEmpty(t, found, text)
		require.Contains(t, found[0], want, text)
	}
	_, err := Impure("x.go", []byte("not Go"))
	require.Error(t, err)
}
