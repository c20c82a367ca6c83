package engines

import (
	"strings"
	"unicode"
)

const maxForeign = 300

// OneLine makes text from a database or a person fit for an error or a reason. The result is
// printable, single-spaced and bounded.
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
