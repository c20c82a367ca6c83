package model

import (
	"strings"
	"unicode"
)

// Text prints the plan: the order, the steps, the holds and the moves of partitions, one
// per line. An empty order and a hold of the whole cluster show "-" instead of pod names.
// It leaves out the notes of steps.
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

// Text prints the step on one line.
func (s Step) Text() string {
	return oneLine("go     " + s.Pod + " " + string(s.Action) + " after " + string(s.Prepare) + " (" + string(s.Reason) + ")")
}

// Text prints the hold on one line.
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

// oneLine replaces control characters, so that the name of a group or a pod cannot start a
// new line or control the terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
