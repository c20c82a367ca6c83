//go:build linux

package main

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// span is text of one colour, told by what that means.
type span struct{ text, mark string }

// line is one of the terminal.
type line []span

// marks are what the program's colours are called in the picture.
var marks = map[string]string{"32": "good", "33": "waiting", "31": "bad", "2": "faint"}

var colour = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// read takes a line apart where its colour changes.
func read(text string) line {
	var l line
	mark := ""
	for text != "" {
		at := colour.FindStringSubmatchIndex(text)
		if at == nil {
			at = []int{len(text), len(text), 0, 0}
		}
		if at[0] > 0 {
			l = append(l, span{text[:at[0]], mark})
		}
		mark, text = marks[text[at[2]:at[3]]], text[at[1]:]
	}
	return l
}

func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

const (
	rowHeight = 18
	rowWidth  = 7.85 // of a letter, at 13 pixels
	margin    = 16
	bar       = 30
	// apart is how long after one line the next is written.
	apart = 0.16
)

// Both themes are in the picture; the reader's setting decides which one is shown. Readers who
// prefer reduced motion see all lines at once.
const style = `
    .ground { fill: #ffffff; stroke: #d0d7de } .bar { fill: #f6f8fa } .dot { fill: #d0d7de }
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #1b1f23 }
    .typed { font-weight: 700 } .good { fill: #0b6e43 } .waiting { fill: #7a4600 } .bad { fill: #a40e26 } .faint { fill: #57606a }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #0d1117; stroke: #30363d } .bar { fill: #161b22 } .dot { fill: #30363d } text { fill: #e6edf3 }
      .good { fill: #5fd69a } .waiting { fill: #f0b95c } .bad { fill: #ff9a94 } .faint { fill: #9da7b3 }
    }
    @media (prefers-reduced-motion: no-preference) {
      .row { animation: come .1s both } @keyframes come { from { opacity: 0 } to { opacity: 1 } }
    }
`

// draw makes the picture. Screen readers get the text of all its lines.
func draw(lines []line) string {
	columns := 0
	var all []string
	for _, l := range lines {
		columns = max(columns, utf8.RuneCountInString(l.text()))
		all = append(all, l.text())
	}
	width := 2*margin + int(float64(columns)*rowWidth)
	height := bar + 2*margin + len(lines)*rowHeight - 6
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n",
		width, height, width, height)
	b.WriteString("  <!-- Written by test/cmd/record; test/generate.sh writes it anew. -->\n")
	b.WriteString("  <title id=\"title\">A terminal in which rollcall rehearse and rollcall explain ran</title>\n")
	fmt.Fprintf(&b, "  <desc id=\"desc\">%s</desc>\n", escape(strings.Join(all, "\n")))
	fmt.Fprintf(&b, "  <style>%s  </style>\n", style)
	fmt.Fprintf(&b, "  <rect class=\"ground\" x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width-1, height-1)
	fmt.Fprintf(&b, "  <path class=\"bar\" d=\"M1 %d V9 a8 8 0 0 1 8 -8 H%d a8 8 0 0 1 8 8 V%d z\"/>\n", bar, width-9, bar)
	for i := range 3 {
		fmt.Fprintf(&b, "  <circle class=\"dot\" cx=\"%d\" cy=\"16\" r=\"5\"/>\n", margin+4+16*i)
	}
	for i, l := range lines {
		if len(l) == 0 {
			continue
		}
		// The same width wherever it is shown, whatever the letters there are like.
		fmt.Fprintf(&b, "  <text class=\"row\" style=\"animation-delay:%.2fs\" x=\"%d\" y=\"%d\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">%s</text>\n",
			float64(i)*apart, margin, bar+margin+8+i*rowHeight, float64(utf8.RuneCountInString(l.text()))*rowWidth, l.spans())
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (l line) spans() string {
	var b strings.Builder
	for _, s := range l {
		if s.mark == "" {
			b.WriteString(escape(s.text))
			continue
		}
		fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, s.mark, escape(s.text))
	}
	return b.String()
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}
