package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files and folders that the pages for contributors name are there.
func TestPathsForContributorsExist(t *testing.T) {
	all := 0
	for _, page := range pages(t) {
		if page.Folder() != ".github" {
			continue
		}
		for _, path := range Paths(page.Text) {
			all++
			found, err := filepath.Glob(filepath.Join(root, path))
			require.NoError(t, err)
			require.NotEmpty(t, found, "%s names %s, and there is no such file", page.Path, path)
		}
	}
	require.Greater(t, all, 20)
}

// Workflows run only targets of the Makefile, so that everybody can run the same; the nightly
// ones are those of `make nightly`.
func TestWorkflowsRunTargetsOfTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	ran := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name := filepath.Base(file)
		ran[name] = Targets(string(text))
		require.NotEmpty(t, ran[name], name)
		for _, target := range ran[name] {
			require.Contains(t, string(makefile), "\n"+target+":", name)
		}
	}
	require.Equal(t, []string{"check"}, ran["unit.yml"])
	require.Equal(t, []string{"test"}, ran["cluster.yml"])
	nightly := regexp.MustCompile(`(?m)^nightly: deps build ([a-z -]+) ##`).FindSubmatch(makefile)
	require.NotNil(t, nightly)
	for target := range strings.FieldsSeq(string(nightly[1])) {
		require.Contains(t, ran["nightly.yml"], target)
	}
}

func TestReadingPathsAndTargets(t *testing.T) {
	require.Equal(t, []string{"engines/solr", "coordinator/view", "test/cmd/mutate/*.txt", "deploy/docs/page.md"},
		Paths("`engines/solr`, `go test ./coordinator/view`, test/none, `test/cmd/mutate/*.txt` and `deploy/docs/page.md`; `bin/rollcall`, `engines`"))
	require.Equal(t, []string{"check", "a", "b-c"}, Targets("      - run: make check\n        target: [a, b-c]\n      - run: make ${{ matrix.target }}\n"))
}
