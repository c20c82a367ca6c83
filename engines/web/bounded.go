package web

import (
	"errors"
	"fmt"
	"io"

	"github.com/rollcall-dev/rollcall/engines"
)

// ErrTooLarge means that an answer is larger than its Limits.
var ErrTooLarge = errors.New("answer is larger than the limit")

// Limits are the limits of one answer. A limit of bytes alone does not bound memory: in
// {"1":{},"2":{} an entry is seven bytes, and takes hundreds once it is decoded. So Bounded also
// counts what makes values, as the bytes arrive and before anything is decoded.
type Limits struct {
	Bytes   int64 // of the body, after decompression
	Depth   int   // of objects and lists in each other
	Objects int   // objects and lists
	Values  int   // objects, lists and the commas in them
	Text    int   // bytes of one text, name or number, with the spaces around it
}

// Small is for answers about one node or one task. Thousands of cores or settings fit. Decoded into
// maps of strings it takes about 20 MiB.
var Small = Limits{Bytes: 4 << 20, Depth: 64, Objects: 1 << 16, Values: 1 << 17, Text: 256 << 10}

// larger counts an answer that exceeds a limit, and returns the error for it.
func larger(limit int64, of string) error {
	engines.CountTooLarge()
	return fmt.Errorf("%w of %d %s", ErrTooLarge, limit, of)
}

// Bounded reads a body within Limits, and remembers why it ended. A body that is not JSON is
// bounded as well; a decoder says what is wrong with it.
type Bounded struct {
	from            io.Reader
	limits          Limits
	read            int64
	depth           int
	objects, values int
	text            int // bytes of the text, number or spaces so far
	quoted, escaped bool
	failed          error
}

// NewBounded returns a reader of from within the limits.
func NewBounded(from io.Reader, limits Limits) *Bounded { return &Bounded{from: from, limits: limits} }

// Failed returns why it ended, if not at the end of its input.
func (b *Bounded) Failed() error { return b.failed }

func (b *Bounded) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	left := b.limits.Bytes - b.read
	if left <= 0 {
		var one [1]byte
		n, err := b.from.Read(one[:])
		if n > 0 {
			return 0, b.refuse(b.limits.Bytes, "bytes")
		}
		return 0, b.end(err)
	}
	if int64(len(p)) > left {
		p = p[:left]
	}
	n, err := b.from.Read(p)
	b.read += int64(n)
	if b.count(p[:n]); b.failed != nil {
		return 0, b.failed
	}
	return n, b.end(err)
}

func (b *Bounded) end(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return err
}

func (b *Bounded) refuse(limit int64, of string) error {
	b.failed = larger(limit, of)
	return b.failed
}

// count scans the bytes as JSON: only brackets and commas outside of strings make values.
func (b *Bounded) count(p []byte) {
	for _, c := range p {
		if b.text++; b.text > b.limits.Text+2 { // and its quotes
			_ = b.refuse(int64(b.limits.Text), "bytes in one text")
			return
		}
		if b.quoted {
			switch {
			case b.escaped:
				b.escaped = false
			case c == '\\':
				b.escaped = true
			case c == '"':
				b.quoted, b.text = false, 0
			}
			continue
		}
		switch c {
		case '"':
			b.quoted, b.text = true, 1
			continue
		case '{', '[':
			b.depth++
			b.objects++
			b.values++
		case ',':
			b.values++
		case '}', ']':
			b.depth--
		case ':':
		default: // also spaces, of which a decoder may keep all until something follows
			continue
		}
		b.text = 0
		switch {
		case b.depth > b.limits.Depth:
			_ = b.refuse(int64(b.limits.Depth), "levels of objects in each other")
		case b.objects > b.limits.Objects:
			_ = b.refuse(int64(b.limits.Objects), "objects and lists")
		case b.values > b.limits.Values:
			_ = b.refuse(int64(b.limits.Values), "values")
		}
		if b.failed != nil {
			return
		}
	}
}
