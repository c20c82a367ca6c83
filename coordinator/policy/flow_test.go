package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// flowChart are the boxes of the chart. There is no a4.
var flowChart = strings.Fields("a0 a1 a2 a3 a5 a6 a7 a8 a9 b1 b2 b3 b4 b5 b6 b7 b8 b9 c1 c2 c3 c4")

const openSearchSeed = "testdata/opensearch_seed_"

// TestTheFlowChartIsComplete reads the table in DESIGN.md: each box is there once, each script that
// it names exists, and no box of the chart is missing.
func TestTheFlowChartIsComplete(t *testing.T) {
	text, err := os.ReadFile("DESIGN.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## The flow chart of OpenSearch's reconciler")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")

	box := regexp.MustCompile(`^[abc]\d$`)
	script := regexp.MustCompile("`([a-z_*]+)`")
	var boxes, named []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "box" {
			continue
		}
		for _, word := range strings.Fields(cells[1]) {
			if box.MatchString(word) {
				boxes = append(boxes, word)
			}
		}
		scripts := script.FindAllStringSubmatch(cells[3], -1)
		require.NotEmpty(t, scripts, row)
		for _, s := range scripts {
			files, err := filepath.Glob(openSearchSeed + s[1] + ".txt")
			require.NoError(t, err)
			require.NotEmpty(t, files, "%s: no such script", s[1])
			named = append(named, files...)
		}
	}
	slices.Sort(boxes)
	require.Equal(t, flowChart, boxes)

	flow, err := filepath.Glob(openSearchSeed + "flow_*.txt")
	require.NoError(t, err)
	require.Subset(t, named, flow)
}

// Each script begins with the part of the document that it is about, and quotes it.
func TestScriptsSayWhichSentenceTheyStandFor(t *testing.T) {
	files, err := filepath.Glob(openSearchSeed + "*.txt")
	require.NoError(t, err)
	begins := regexp.MustCompile(`^# (Flow|Principle|Additional|Design|Mechanism|StatefulSet): `)
	for _, file := range files {
		text, _ := readGolden(t, file)
		require.Regexp(t, begins, string(text), file)
		comment, _, _ := strings.Cut(string(text), "\nversion: 1\n")
		require.Contains(t, comment, `"`, "%s quotes nothing", file)
	}
}

// mocoSources are the packages whose tests the table about MOCO names.
var mocoSources = []string{".", "../model", "../act", "../status"}

// TestTheMOCOTableIsComplete reads the table in DESIGN.md: it names every script of the two kinds,
// everything that it names exists, and no weakness is missing.
func TestTheMOCOTableIsComplete(t *testing.T) {
	text, err := os.ReadFile("DESIGN.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## What MOCO's documents say")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")

	var tests strings.Builder
	for _, folder := range mocoSources {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			tests.Write(source)
		}
	}
	named := map[string]bool{}
	weakness := 0
	word := regexp.MustCompile("`([A-Za-z_*]+)`")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "what" {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(cells[1]), "Weakness ") {
			weakness++
			require.Contains(t, cells[1], fmt.Sprintf("Weakness %d: ", weakness))
		}
		words := word.FindAllStringSubmatch(cells[3], -1)
		require.NotEmpty(t, words, row)
		for _, w := range words {
			if name, pattern := strings.CutSuffix(w[1], "*"); strings.HasPrefix(name, "Test") {
				if !pattern {
					name += "("
				}
				require.Contains(t, tests.String(), "func "+name, "no such test")
				continue
			}
			files, err := filepath.Glob("testdata/m*_seed_" + w[1] + ".txt")
			require.NoError(t, err)
			require.NotEmpty(t, files, "%s: no such script", w[1])
			for _, file := range files {
				named[file] = true
			}
		}
	}
	require.Equal(t, 19, weakness)
	scripts, err := filepath.Glob("testdata/m*_seed_*.txt")
	require.NoError(t, err)
	for _, script := range scripts {
		require.True(t, named[script], "%s is named nowhere", script)
	}
}

// Each script begins with its source.
func TestMySQLScriptsSayWhatTheyStandFor(t *testing.T) {
	files, err := filepath.Glob("testdata/mysql_seed_*.txt")
	require.NoError(t, err)
	begins := regexp.MustCompile(`^# (Strategy|Design|Situation|Weakness \d+|Adapter|Contract): `)
	for _, file := range files {
		text, _ := readGolden(t, file)
		require.Regexp(t, begins, string(text), file)
	}
}
