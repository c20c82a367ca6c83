// Package printable keeps what others wrote from steering the terminal that it is
// shown on. A program writes all that people read through one Writer.
//
// test/cluster, a module of its own, has the same file.
package printable

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Escape stands for ESC where the program itself steers the terminal: a Writer
// writes ESC for it. It is another text in each process, so nothing that the
// program reads can have it. It must be within one call of Write.
var Escape = "\x00" + rand.Text() + "\x00"

// Steers reports whether a terminal obeys the rune rather than shows it: the control characters but
// the end of a line and the tab, the other ends of lines of Unicode, and what changes the direction
// of text.
func Steers(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// Quote writes a rune as JSON and Go do, so JSON stays what it was: there such a
// rune can only be within a string.
func Quote(r rune) string { return fmt.Sprintf(`\u%04x`, r) }

// Writer writes what steers a terminal as \uXXXX, and each byte that is no UTF-8,
// which terminals of eight bits obey, as U+FFFD. It can be used by several
// goroutines at once.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	part []byte // the beginning of a rune of which the rest has not come
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Unwrap is where it writes to.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.part, p...)
	w.part = nil
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		if bytes.HasPrefix(text, []byte(Escape)) {
			out = append(out, 0x1b)
			text = text[len(Escape):]
			continue
		}
		if !utf8.FullRune(text) {
			w.part = bytes.Clone(text)
			break
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError:
			out = utf8.AppendRune(out, utf8.RuneError)
		case Steers(r):
			out = append(out, Quote(r)...)
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is left of a rune that never came.
func (w *Writer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.part) > 0 {
		w.part = nil
		_, _ = io.WriteString(w.w, string(utf8.RuneError))
	}
}
