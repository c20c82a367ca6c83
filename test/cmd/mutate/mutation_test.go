package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	list, err := parse("# first: a.go\n-\told\n-\tlines\n+\tnew\n\n# second [x/y TestZ]: p/b.go\n-gone\n")
	require.NoError(t, err)
	require.Equal(t, []mutation{
		{name: "first", file: "a.go", before: "\told\n\tlines\n", after: "\tnew\n"},
		{name: "second", pkg: "x/y", test: "TestZ", file: "p/b.go", before: "gone\n"},
	}, list)
	require.Equal(t, []string{"q/a.go", "p/b.go"}, []string{list[0].path("q"), list[1].path("q")})
	for text, want := range map[string]string{
		"-old\n":                       "line 1: a mutation begins with",
		"# name\n":                     "line 1: name: must be file",
		"# name [TestZ]: a.go\n-old\n": "line 1: must be [package test]",
		"# name: a.go\nold\n":          "line 2: begins with none of",
		"# name: a.go\n+new\n":         "name: changes nothing",
		"# name: a.go\n-old\n+old\n":   "name: changes nothing",
		"# one: a.go\n# two: a.go\n-":  "one: changes nothing",
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

func TestJudge(t *testing.T) {
	const passed, failed = "=== RUN\n--- PASS: TestA (0.00s)\n", "\n--- FAIL: TestB (0.00s)\n"
	a, b := []string{"TestA"}, []string{"TestB"}
	require.Equal(t, survived, judge(passed, false, a))
	require.Equal(t, caught, judge(failed, true, b))
	require.Equal(t, caught, judge(passed+failed, true, []string{"TestA", "TestB"}))
	for _, out := range []string{"", "PASS\n", "\n--- FAIL: TestBoth (0.00s)\n", "\n--- SKIP: TestB (0.00s)\n", "panic\n", passed} {
		require.Equal(t, didNotRun, judge(out, true, b), out)
	}
}

// A list whose texts are gone from the policy would prove nothing, and only
// `make mutate` would say so.
func TestPolicyMutationsApply(t *testing.T) {
	text, err := os.ReadFile("policy.txt")
	require.NoError(t, err)
	list, err := parse(string(text))
	require.NoError(t, err)
	require.Greater(t, len(list), 100)
	for _, m := range list {
		source, err := os.ReadFile(filepath.Join(root, m.path("coordinator/policy")))
		require.NoError(t, err)
		_, err = m.apply(string(source))
		require.NoError(t, err)
	}
}

func TestPattern(t *testing.T) {
	require.Equal(t, "^(TestA|TestB)$", pattern([]string{"TestA", "TestB"}))
	require.Equal(t, "^(TestA|TestB)$", pattern([]string{"TestA/one", "TestB"}))
	require.Equal(t, `^(TestA)$/^(one:_900_\.KB)$`, pattern([]string{"TestA/one:_900_.KB"}))
	require.Equal(t, caught, judge("\n--- FAIL: TestA (1s)\n    --- FAIL: TestA/one (1s)\n", true, []string{"TestA/one"}))
}
