package model

import (
	"strings"
	"unicode"
)

// Text is the plan as lines: the order, what goes, what holds, and which hold
// lines move. A hold of the whole cluster, and an order of nobody, show "-" where
// names would be. Notes on a step are not in it: one pod, one line.
func (p Plan) Text() string {
	var b strings.Builder
	b.WriteString("order  ")
	if len(p.Order) == 0 {
		b.WriteString("-")
	}
	b.WriteString(oneLine(strings.Join(p.Order, " ")))
	b.WriteString("\n")
	for _, s := range p.Steps {
		b.WriteString(s.Text() + "\n")
	}
	for _, h := range p.Holds {
		b.WriteString(h.Text() + "\n")
	}
	for _, l := range p.Lines {
		b.WriteString(l.Text() + "\n")
	}
	return b.String()
}

// Text is the step as one line.
func (s Step) Text() string {
	return oneLine("go     " + s.Pod + " " + string(s.Action) + " after " + string(s.Prepare) + " (" + string(s.Reason) + ")")
}

// Text is the hold as one line.
func (h Hold) Text() string {
	pod := h.Pod
	if pod == "" {
		pod = "-"
	}
	line := "hold   " + pod + " " + string(h.Rule)
	if h.Group != "" {
		line += " " + h.Group
	}
	return oneLine(line + ": " + h.Reason)
}

// oneLine keeps what others named, a group or a pod, from looking like another
// line, or from telling the terminal something.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
