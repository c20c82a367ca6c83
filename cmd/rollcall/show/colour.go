package show

import (
	"strings"

	"github.com/rollcall-dev/rollcall/cmd/printable"
)

// Mark says what a line means, which a terminal shows as a colour.
type Mark int

// The marks.
const (
	Plain Mark = iota
	Good
	Waiting
	Bad
	Faint
)

// Palette is how a place shows lines. Its zero value paints nothing and has Width columns.
type Palette struct {
	colours [5]string
	// Columns there are; 0 when that is not known.
	Columns int
}

// width is what tables may take: people with wide terminals do not want to read long lines.
func (p Palette) width() int {
	if p.Columns > 0 {
		return min(p.Columns, Width)
	}
	return Width
}

// Terminal is a palette for a terminal, to which a printable.Writer writes.
var Terminal = Palette{colours: [5]string{
	Good:    printable.Escape + "[32m",
	Waiting: printable.Escape + "[33m",
	Bad:     printable.Escape + "[31m",
	Faint:   printable.Escape + "[2m",
}}

var uncoloured = printable.Escape + "[0m"

// Paint marks a text that ends before the end of its line.
func (p Palette) Paint(mark Mark, text string) string {
	if mark < 0 || int(mark) >= len(p.colours) || p.colours[mark] == "" || text == "" {
		return text
	}
	return p.colours[mark] + text + uncoloured
}

// Clean replaces characters that could control a terminal. Text in holds and vetoes can come from a
// database. A printable.Writer filters all output anyway; Clean keeps the columns of tables
// aligned.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if printable.Steers(r) || r == '\t' {
			return '?'
		}
		return r
	}, text)
}
