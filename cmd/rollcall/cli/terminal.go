package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
)

// Palette colours only what a person looks at.
func (a *App) Palette() show.Palette {
	var p show.Palette
	columns, _, ok := TerminalSize(a.Out)
	if ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		p = show.Terminal
	}
	p.Columns = columns
	return p
}

// TerminalSize is that of the terminal that w is; ok is false when it is none.
// A terminal that does not know has a size of 0.
func TerminalSize(w io.Writer) (columns, rows int, ok bool) {
	f := terminal(w)
	if f == nil {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0, true
	}
	return columns, rows, true
}

// terminal is the one that w writes to; nil: it writes to none.
func terminal(w io.Writer) *os.File {
	if p, ok := w.(*printable.Writer); ok {
		w = p.Unwrap()
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// AsItIs is standard output for documents of the user's own, which have to come out
// as they went in. Only a terminal, where a person looks at them, does not get that.
func (a *App) AsItIs() io.Writer {
	if p, ok := a.Out.(*printable.Writer); ok && terminal(p) == nil {
		return p.Unwrap()
	}
	return a.Out
}
