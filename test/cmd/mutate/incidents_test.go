package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root      = "../../.."
	incidents = root + "/test/incidents"
)

// testsIn are the names of a package's tests.
func testsIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names
}

// table are the rows of the README: the incident's name and its test.
func table(t *testing.T) [][2]string {
	t.Helper()
	text, err := os.ReadFile(incidents + "/README.md")
	require.NoError(t, err)
	var rows [][2]string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[2], "`") {
			continue
		}
		test := strings.Trim(strings.TrimSpace(cells[2]), "`")
		if !strings.Contains(test, " ") {
			test = "test/incidents " + test
		}
		rows = append(rows, [2]string{strings.TrimSpace(cells[1]), test})
	}
	return rows
}

// Each incident that is listed has a guard to switch off, which is where the list
// says, and the test that must then fail.
func TestIncidentsApply(t *testing.T) {
	text, err := os.ReadFile("incidents.txt")
	require.NoError(t, err)
	list, err := parse(string(text))
	require.NoError(t, err)
	var rows [][2]string
	var ours []string
	for _, m := range list {
		source, err := os.ReadFile(filepath.Join(root, m.path("")))
		require.NoError(t, err)
		_, err = m.apply(string(source))
		require.NoError(t, err)
		require.Contains(t, testsIn(t, filepath.Join(root, m.pkg)), m.test, m.name)
		rows = append(rows, [2]string{m.name, m.pkg + " " + m.test})
		if m.pkg == "test/incidents" {
			ours = append(ours, m.test)
		}
	}
	require.Len(t, list, 20)
	require.Equal(t, table(t), rows)
	require.ElementsMatch(t, testsIn(t, incidents), ours, "no test without a guard that it needs")
}
