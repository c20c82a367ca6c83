package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
)

// Palette has colours only when the output is a terminal.
func (a *App) Palette() show.Palette {
	var p show.Palette
	columns, _, ok := TerminalSize(a.Out)
	if ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		p = show.Terminal
	}
	p.Columns = columns
	return p
}

// TerminalSize is the size of the terminal that w writes to; ok is false for anything else.
// The size is 0 when the terminal does not report it.
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

// terminal is the terminal that w writes to, or nil.
func terminal(w io.Writer) *os.File {
	if p, ok := w.(*printable.Writer); ok {
		w = p.Unwrap()
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// AsItIs is unfiltered standard output, for documents of the user that must not change.
// Output to a terminal is filtered all the same.
func (a *App) AsItIs() io.Writer {
	if p, ok := a.Out.(*printable.Writer); ok && terminal(p) == nil {
		return p.Unwrap()
	}
	return a.Out
}
