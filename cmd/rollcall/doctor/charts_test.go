package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCharts shows all that is said of charts and manifests as people use them. Each line of the
// golden files was judged: nothing false is said, and nothing is missed that is looked for.
func TestCharts(t *testing.T) {
	files, err := filepath.Glob("testdata/charts/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 15)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		f, err := Manifest(data)
		require.NoError(t, err, file)
		require.NoError(t, f.Only(nil), file)
		var text strings.Builder
		for _, found := range Examine(f) {
			text.WriteString(string(found.Severity) + " " + found.Check + " " + found.Object + "\n  " + found.Found + "\n  fix: " + found.Fix + "\n")
		}
		golden := strings.TrimSuffix(file, ".yaml") + ".txt"
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o644))
		}
		wanted, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(wanted), text.String(), file)
	}
}
