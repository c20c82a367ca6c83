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
	known := []string{pods, members, primaries, ofRanks, overseers, others, doomed, byLine}
	for _, i := range Invariants {
		known = append(known, i.Name)
	}
	allowed := func(name, document, says string) {
		text, err := os.ReadFile(filepath.Join("../../..", document))
		require.NoError(t, err, name)
		require.NotEmpty(t, says, name)
		require.Contains(t, strings.Join(strings.Fields(string(text)), " "), says, name)
	}
	for _, w := range Waits {
		allowed(w.Name, w.Document, w.Says)
	}
	for _, f := range followers {
		allowed(f.Name, f.Document, f.Says)
	}
	for _, e := range Exceptions {
		allowed(e.Name, e.Document, e.Says)
		require.NotEmpty(t, e.Skips, e.Name)
		for _, skipped := range e.Skips {
			require.True(t, slices.Contains(known, skipped), "%s: %s", e.Name, skipped)
		}
	}
}
