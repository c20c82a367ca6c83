package sorted

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type thing struct{ key, place int }

func TestByIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []thing
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys") {
			list = append(list, thing{key, i})
		}
		want := slices.Clone(list)
		byKey := func(a, b thing) int { return cmp.Compare(a.key, b.key) }
		slices.SortStableFunc(want, byKey)
		By(list, byKey)
		require.Equal(t, want, list)
	})
}

// TestAdaptersUseIt checks that adapters sort with this package: slices.SortFunc for one more type
// adds 15 KiB or more to every agent.
func TestAdaptersUseIt(t *testing.T) {
	perType := regexp.MustCompile(`slices\.(Sort|SortStable|Sorted|SortedStable)Func\(`)
	read := 0
	for _, adapter := range []string{"solr", "opensearch", "mysql", "foundationdb"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", adapter), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && strings.HasSuffix(entry.Name(), "test"):
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			read++
			require.False(t, perType.Match(text), "%s: use sorted.By", path)
			return err
		}))
	}
	require.Greater(t, read, 20)
}
