package show

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/cmd/printable"
)

func TestTableFitsTheWidth(t *testing.T) {
	table := NewTable("POD", "RULE", "REASON")
	table.Title, table.Indent = "Held:", "  "
	table.Row(Plain, "search-10", "shard-budget", strings.Repeat("books/s1 would have 1 of 3 members, needs 2; ", 6))
	table.Row(Plain, "é", "", "short")
	var out strings.Builder
	table.Write(&out, Palette{})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Equal(t, "Held:", lines[0])
	require.Equal(t, "  POD        RULE          REASON", lines[1])
	require.Equal(t, "  é                        short", lines[len(lines)-1])
	require.Greater(t, len(lines), 5, "the long reason is wrapped")
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), Width)
		require.Equal(t, strings.TrimRight(line, " "), line)
	}
	require.True(t, strings.HasPrefix(lines[3], strings.Repeat(" ", 27)), "below the column: %q", lines[3])
}

func TestEmptyTableIsNothing(t *testing.T) {
	table := NewTable("POD")
	table.Title = "Held:"
	var out strings.Builder
	table.Write(&out, Terminal)
	require.Empty(t, out.String())
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{""}, Wrap("", 10))
	require.Equal(t, []string{"a b", "c"}, Wrap("a b c", 3))
	require.Equal(t, []string{"a", "verylongword", "b"}, Wrap("a verylongword b", 5))
	require.Equal(t, []string{"a", "b"}, Wrap("a\nb", 10))
}

func TestColourOnlyWhereWanted(t *testing.T) {
	require.Equal(t, "x", Palette{}.Paint(Bad, "x"))
	require.Equal(t, printable.Escape+"[31mx"+printable.Escape+"[0m", Terminal.Paint(Bad, "x"))
	require.Equal(t, "x", Terminal.Paint(Plain, "x"))
	require.Equal(t, "", Terminal.Paint(Bad, ""))
	require.Equal(t, "x", Terminal.Paint(Mark(99), "x"))
}

func TestCleanKeepsWordsOnly(t *testing.T) {
	require.Equal(t, "é ok\nline", Clean("é ok\nline"))
	require.Equal(t, "?[2J?]0;x???", Clean("\x1b[2J\x1b]0;x\a\x7f\u009b"))
}
