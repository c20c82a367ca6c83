package policy

import (
	"fmt"
	"strings"
	"unicode"
)

// Text is the plan as lines: the order, what goes and what must be known before
// it does, what holds, and which hold lines move. A hold of the whole cluster,
// and an order of nobody, show "-" where names would be.
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
		for _, note := range s.fewNotes() {
			b.WriteString(oneLine("note   "+s.Pod+" "+note) + "\n")
		}
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

// fewNotes are the notes of the step, cut where more of the same is no help.
func (s Step) fewNotes() []string {
	const most = 5
	if len(s.Notes) <= most {
		return s.Notes
	}
	return append(s.Notes[:most:most], fmt.Sprintf("and %d more", len(s.Notes)-most))
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
