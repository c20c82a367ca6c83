package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostWords is how many words of its own Rollcall may have: all others are those of Kubernetes,
// SWIM and the databases.
const mostWords = 40

func TestTheGlossaryIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/docs/concepts.md"))
	require.NoError(t, err)
	words := Glossary(string(text))
	require.Greater(t, len(words), 20)
	require.LessOrEqual(t, len(words), mostWords)
	for i, word := range words {
		require.NotContains(t, words[:i], word, "a word is explained once")
		require.NotContains(t, word, ",", "a row explains one word")
	}
}

// Words that were replaced by those of the field do not come back to what users see.
func TestFormerWordsAreGone(t *testing.T) {
	former := []string{
		"line-stopped", "StoppedTheLine", "PrepareStarted", "PrepareTimedOut", "PodsAway", "RollcallNobodyLeads",
		"hold line", "knob", "status.shared", "status.leftovers",
	}
	for _, page := range pages(t) {
		if !strings.HasPrefix(page.Path, "deploy/") && page.Path != "README.md" {
			continue
		}
		for _, word := range former {
			require.NotContains(t, page.Text, word, page.Path)
		}
	}
}

func TestReadingAGlossary(t *testing.T) {
	require.Equal(t, []string{"agent", "claim"}, Glossary("## Before\n\n| x | y |\n\n## Glossary\n\nText.\n\n| word | what it is |\n| --- | --- |\n| agent | a |\n| claim | b |\n\n## After\n\n| z | z |\n"))
	require.Empty(t, Glossary("| agent | a |\n"))
}
