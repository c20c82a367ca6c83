package engines

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		" a\n\tb  c ":               "a b c",
		"a\x00\x1b[31mb":            "a[31mb",
		"a\xff\xfeb":                "ab",
		strings.Repeat("é", 300):    strings.Repeat("é", 300),
		strings.Repeat("é", 301):    strings.Repeat("é", 300) + "...",
		strings.Repeat("a", 100000): strings.Repeat("a", 300) + "...",
	} {
		require.Equal(t, want, OneLine(text))
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a\r\n\x00b")
	f.Fuzz(func(t *testing.T, text string) {
		out := OneLine(text)
		require.LessOrEqual(t, len([]rune(out)), maxForeign+3)
		require.NotContains(t, out, "  ")
		for _, r := range out {
			require.True(t, r == ' ' || unicode.IsPrint(r))
		}
	})
}
