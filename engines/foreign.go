package engines

import (
	"strings"
	"unicode"
)

const maxForeign = 300

// OneLine makes text that a database or a person wrote fit for an error or a
// reason: printable, single-spaced, bounded.
func OneLine(text string) string {
	if len(text) > 4*maxForeign {
		text = text[:4*maxForeign]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxForeign {
		text = string(runes[:maxForeign]) + "..."
	}
	return text
}
