package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	list, err := parse("# first: a.go\n-\told\n-\tlines\n+\tnew\n\n# second: b.go\n-gone\n")
	require.NoError(t, err)
	require.Equal(t, []mutation{{"first", "a.go", "\told\n\tlines\n", "\tnew\n"}, {"second", "b.go", "gone\n", ""}}, list)
	for text, want := range map[string]string{
		"-old\n":                      "line 1: a mutation begins with",
		"# name\n":                    "line 1: name: file is wanted",
		"# name: a.go\nold\n":         "line 2: begins with none of",
		"# name: a.go\n+new\n":        "name: changes nothing",
		"# name: a.go\n-old\n+old\n":  "name: changes nothing",
		"# one: a.go\n# two: a.go\n-": "one: changes nothing",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, want)
	}
}

func TestApply(t *testing.T) {
	m := mutation{name: "m", file: "a.go", before: "b\n", after: "c\n"}
	got, err := m.apply("a\nb\nbb\n")
	require.NoError(t, err)
	require.Equal(t, "a\nc\nbb\n", got)
	for _, text := range []string{"", "b", "ab\n", "b\nb\n"} {
		_, err := m.apply(text)
		require.Error(t, err, "%q", text)
	}
}

// Each incident's guard is where the list says, and its script is there.
func TestIncidentsApply(t *testing.T) {
	const policy = "../../../coordinator/policy"
	text, err := os.ReadFile("incidents.txt")
	require.NoError(t, err)
	list, err := parse(string(text))
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, m := range list {
		source, err := os.ReadFile(filepath.Join(policy, m.file))
		require.NoError(t, err)
		_, err = m.apply(string(source))
		require.NoError(t, err)
		script := strings.TrimSuffix(strings.TrimPrefix(m.test(), "TestGolden/^"), "$")
		require.FileExists(t, filepath.Join(policy, "testdata", script+".txt"), m.name)
	}
}
