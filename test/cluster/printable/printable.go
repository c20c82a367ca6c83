// Package printable keeps foreign text from controlling the terminal on which it is shown. A
// program writes all output for people through one Writer.
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

// Escape stands for ESC where the program itself controls the terminal: a Writer writes ESC for it.
// It differs in each process, so that nothing that the program reads can contain it. It must be
// within one call of Write.
var Escape = "\x00" + rand.Text() + "\x00"

// Steers reports whether the rune controls a terminal instead of being shown: the control
// characters but the end of a line and the tab, the other ends of lines of Unicode, and what
// changes the direction of text.
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

// Writer writes characters that control a terminal as \uXXXX, and each byte that is not UTF-8,
// which 8-bit terminals obey, as U+FFFD. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	part []byte // the beginning of a rune of which the rest has not come
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Unwrap returns the underlying writer.
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

// Flush writes the rest of an incomplete rune.
func (w *Writer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.part) > 0 {
		w.part = nil
		_, _ = io.WriteString(w.w, string(utf8.RuneError))
	}
}
