// Package show writes what people read: tables, progress lines and
// explanations, out of what the coordinator or the DatabaseCluster says.
package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Width is the number of columns that nothing but a single long word exceeds.
const Width = 100

// gap between two columns.
const gap = "  "

// Table is columns of text. Its last column is wrapped where it would go
// beyond Width.
type Table struct {
	// Title is a line before the header; empty for none.
	Title string
	// Indent stands before each other line.
	Indent string
	// Most rows are written, and how many more there are; 0 for all.
	Most   int
	header []string
	rows   [][]string
	marks  []Mark
}

// NewTable has a header in capitals.
func NewTable(header ...string) *Table { return &Table{header: header} }

// Row adds a row. The mark colours it.
func (t *Table) Row(mark Mark, cells ...string) {
	t.rows = append(t.rows, cells)
	t.marks = append(t.marks, mark)
}

// Write writes the table, and nothing when it has no rows.
func (t *Table) Write(w io.Writer, p Palette) {
	if len(t.rows) == 0 {
		return
	}
	rows, marks := t.rows, t.marks
	if more := len(rows) - t.Most; t.Most > 0 && more > 0 {
		rest := make([]string, len(t.header))
		rest[0], rest[len(rest)-1] = "...", fmt.Sprintf("and %d more", more)
		rows, marks = append(slices.Clone(rows[:t.Most]), rest), append(slices.Clone(marks[:t.Most]), Faint)
	}
	if t.Title != "" {
		_, _ = io.WriteString(w, t.Title+"\n")
	}
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, rows...) {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	t.line(w, p, Plain, widths, t.header)
	for i, row := range rows {
		t.line(w, p, marks[i], widths, row)
	}
}

func (t *Table) line(w io.Writer, p Palette, mark Mark, widths []int, row []string) {
	var lead strings.Builder
	lead.WriteString(t.Indent)
	for i, cell := range row[:len(row)-1] {
		lead.WriteString(cell)
		lead.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		lead.WriteString(gap)
	}
	before := utf8.RuneCountInString(lead.String())
	// A narrow rest would be unreadable; then the line is longer.
	lines := Wrap(row[len(row)-1], max(p.width()-before, 14))
	for i, text := range lines {
		prefix := lead.String()
		if i > 0 {
			prefix = strings.Repeat(" ", before)
		}
		_, _ = io.WriteString(w, p.Paint(mark, strings.TrimRight(prefix+text, " "))+"\n")
	}
}

// Wrap breaks a text between words into lines of at most width characters. A
// longer word has a line of its own. There is always at least one line.
func Wrap(text string, width int) []string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line, used := "", 0
		for _, word := range strings.Fields(paragraph) {
			n := utf8.RuneCountInString(word)
			switch {
			case used == 0:
				line, used = word, n
			case used+1+n <= width:
				line += " " + word
				used += 1 + n
			default:
				lines = append(lines, line)
				line, used = word, n
			}
		}
		lines = append(lines, line)
	}
	return lines
}
