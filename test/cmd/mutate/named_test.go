package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/documents"
)

// named are the mutations of all lists that name their tests.
func named(t *testing.T) []mutation {
	t.Helper()
	list, err := load("named-*.txt")
	require.NoError(t, err)
	for _, other := range []string{"incidents.txt", "mysql.txt", "siege.txt"} {
		more, err := load(other)
		require.NoError(t, err)
		list = append(list, more...)
	}
	return list
}

// A list whose texts are gone, or whose test is, would prove nothing, and only
// `make mutate-named` would say so.
func TestNamedMutationsApply(t *testing.T) {
	list := named(t)
	require.Greater(t, len(list), 60)
	for _, m := range list {
		require.NotEmpty(t, m.test, "%s: names no test", m.name)
		source, err := os.ReadFile(filepath.Join(root, m.path("")))
		require.NoError(t, err, m.name)
		_, err = m.apply(string(source))
		require.NoError(t, err)
		test, _, _ := strings.Cut(m.test, "/")
		require.Contains(t, testsIn(t, filepath.Join(root, m.pkg)), test, m.name)
	}
}

// pages are those whose promises must have a mutation each.
var pages = []string{"coordinator", "coordinator/act", "coordinator/guard", "coordinator/rollout", "coordinator/status", "coordinator/view"}

// Each promise of these pages is proved to be held: there is a mutation that breaks it
// and that a test which the page names must catch. A new promise needs one.
func TestEachPromiseHasAMutation(t *testing.T) {
	list := named(t)
	for _, folder := range pages {
		text, err := os.ReadFile(filepath.Join(root, folder, "DESIGN.md"))
		require.NoError(t, err)
		promises := documents.Promises(string(text))
		require.NotEmpty(t, promises, folder)
		for _, p := range promises {
			proved := slices.ContainsFunc(list, func(m mutation) bool { return proves(&m, folder, p) })
			require.True(t, proved, "%s, promise %d has no mutation: %s", folder, p.Number, p.Text)
		}
	}
}

// proves reports whether the mutation is about this promise, and must be caught by a test that it
// names.
func proves(m *mutation, folder string, p documents.Promise) bool {
	about := fmt.Sprintf("%s %d, ", filepath.Base(folder), p.Number)
	return strings.HasPrefix(m.name, about) && slices.Contains(p.Tests(), m.test)
}
