package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every exception is one that a document allows in these words.
func TestDocumentsAllowTheExceptions(t *testing.T) {
	known := []string{pods, members, primaries}
	for _, i := range Invariants {
		known = append(known, i.Name)
	}
	for _, e := range Exceptions {
		text, err := os.ReadFile(filepath.Join("../../..", e.Document))
		require.NoError(t, err, e.Name)
		require.Contains(t, strings.Join(strings.Fields(string(text)), " "), e.Says, e.Name)
		require.NotEmpty(t, e.Skips, e.Name)
		for _, skipped := range e.Skips {
			require.True(t, slices.Contains(known, skipped), "%s: %s", e.Name, skipped)
		}
	}
}
