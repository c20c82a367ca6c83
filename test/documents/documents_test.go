package documents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func pages(t *testing.T) []Page {
	t.Helper()
	all, err := Pages(root)
	require.NoError(t, err)
	paths := make([]string, len(all))
	for i, p := range all {
		paths[i] = p.Path
	}
	for _, path := range []string{"README.md", "coordinator/policy/DESIGN.md", "agent/gossip/DESIGN.md", "deploy/docs/security.md", "test/fdbsim/DESIGN.md"} {
		require.Contains(t, paths, path)
	}
	return all
}

// What a page says is held by a test is held by one that there is.
func TestNamedTestsExist(t *testing.T) {
	tests, err := Tests(root)
	require.NoError(t, err)
	require.Contains(t, tests, "TestNamedTestsExist")
	all := 0
	for _, page := range pages(t) {
		for _, name := range Named(page.Text) {
			all++
			if tests[name] == nil {
				t.Errorf("%s names %s, and there is no such test", page.Path, name)
			}
		}
	}
	require.Greater(t, all, 400)
}

func TestNamedScriptsExist(t *testing.T) {
	all := 0
	for _, page := range pages(t) {
		for _, promise := range Promises(page.Text) {
			for _, name := range promise.Scripts() {
				all++
				if len(scripts(t, page.Folder(), name)) == 0 {
					t.Errorf("%s names %s, and there is no such file in its testdata", page.Path, name)
				}
			}
		}
	}
	require.Greater(t, all, 5)
}

func scripts(t *testing.T, folder, name string) []string {
	t.Helper()
	var found []string
	for _, depth := range []string{"", "*", "*/*"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "testdata", depth, name+".txt"))
		require.NoError(t, err)
		found = append(found, files...)
	}
	return found
}

func TestNamedCasesExist(t *testing.T) {
	all := 0
	for _, page := range pages(t) {
		var sources strings.Builder
		for _, name := range Cases(page.Text) {
			if all++; sources.Len() == 0 {
				files, err := filepath.Glob(filepath.Join(root, page.Folder(), "*_test.go"))
				require.NoError(t, err)
				for _, file := range files {
					text, err := os.ReadFile(file)
					require.NoError(t, err)
					sources.Write(text)
				}
			}
			if !strings.Contains(sources.String(), name) {
				t.Errorf("%s names the case %s, and its tests have none", page.Path, name)
			}
		}
	}
	require.Greater(t, all, 15)
}

// heldOtherwise are promises that no single test holds, and how they are held.
var heldOtherwise = []string{
	"Held by the race detector over all tests here.", // agent/gossip
	"`make mutate", // policy, engines/mysql
	"`enginetest.Run`, called by each adapter", // engines
}

func TestEveryPromiseNamesWhatHoldsIt(t *testing.T) {
	used, all := map[string]bool{}, 0
	for _, page := range pages(t) {
		for _, promise := range Promises(page.Text) {
			all++
			if len(promise.Tests()) > 0 || len(promise.Scripts()) > 0 {
				continue
			}
			i := slices.IndexFunc(heldOtherwise, func(how string) bool { return strings.Contains(promise.Held, how) })
			if i < 0 {
				t.Errorf("%s: nothing is named that holds %q", page.Path, promise.Text)
				continue
			}
			used[heldOtherwise[i]] = true
		}
	}
	require.Greater(t, all, 150)
	require.Len(t, used, len(heldOtherwise))
}

// What security.md claims is held by tests, section by section, and row by row where a
// table says by what it is shown. Where there is none, it says so.
func TestSecuritySaysWhatHoldsIt(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/docs/security.md"))
	require.NoError(t, err)
	rows := 0
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		if title != "Not there yet" {
			require.NotEmpty(t, Named(body), "no test is named in %q", title)
		}
		require.Regexp(t, `[.:|)]\n*$`, body, "%q ends in the middle of a sentence", title)
		shown := false
		for line := range strings.Lines(body) {
			cells := strings.Split(strings.TrimSpace(line), "|")
			if len(cells) < 4 {
				shown = false
				continue
			}
			last := strings.TrimSpace(cells[len(cells)-2])
			if last == "shown by" {
				shown = true
			} else if shown && !strings.HasPrefix(last, "---") {
				rows++
				require.True(t, len(Named(last)) > 0 || strings.Contains(last, "no test"), "nothing is named that shows %s", line)
			}
		}
	}
	require.Greater(t, rows, 20)
}

func TestReading(t *testing.T) {
	require.Equal(t, []string{"TestA", "TestB...", "TestC*", "FuzzD", "BenchmarkE"},
		Named("`TestA`, TestB..., `TestC*`; Testing, aTestX, FuzzD and `BenchmarkE` (Tests)"))
	got := Promises(`# page

1. no invariant

## Invariants

1. First. ` + "`TestA`" + `
   and more. ` + "`TestB`" + `

2. Second (` + "`TestC`: \"one\",\n   \"two\"" + `).

## Decisions

1. no invariant either

| what | why | held by |
| --- | --- | --- |
| a row TestX | some | ` + "`TestD`, `bad_*`, `one_two`, `make it`" + ` |

| other | table |
| --- | --- |
| none | ` + "`TestE`" + ` |
`)
	require.Len(t, got, 3)
	require.Equal(t, []string{"TestA", "TestB"}, got[0].Tests())
	require.Equal(t, 2, got[1].Number)
	require.Equal(t, []string{`"one"`, `"two"`}, Cases(got[1].Text))
	require.Equal(t, Promise{Text: "a row TestX", Held: "`TestD`, `bad_*`, `one_two`, `make it`"}, got[2])
	require.Equal(t, []string{"TestD"}, got[2].Tests())
	require.Equal(t, []string{"bad_*", "one_two"}, got[2].Scripts())
}
