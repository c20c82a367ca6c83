package opensearchtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecordings: every version was asked the same, and each file is a request,
// a status and an answer of moderate size.
func TestRecordings(t *testing.T) {
	form := regexp.MustCompile(`\A(GET|PUT|POST|DELETE) /[^\n]*\n(\{[^\n]*\}\n)?[1-5]\d\d\n\n`)
	var names [][]string
	for _, version := range Versions {
		files, err := filepath.Glob(filepath.Join("..", "testdata", "recorded", version, "*.txt"))
		require.NoError(t, err)
		require.NotEmpty(t, files, version)
		var here []string
		for _, file := range files {
			here = append(here, filepath.Base(file))
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Regexp(t, form, string(text), file)
			require.Less(t, len(text), 100_000, file)
		}
		names = append(names, here)
	}
	for i := range names[1:] {
		require.Equal(t, names[0], names[i+1], Versions[i+1])
	}
}
