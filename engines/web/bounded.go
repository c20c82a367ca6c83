package web

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge: an answer is longer than Options.MaxBytes.
var ErrTooLarge = errors.New("answer is longer than the limit")

// bounded is a body of at most so many bytes, which remembers why it ended.
type bounded struct {
	from      io.Reader
	left, max int64
	failed    error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		n, err := b.from.Read(one[:])
		if n > 0 {
			b.failed = fmt.Errorf("%w of %d bytes", ErrTooLarge, b.max)
			return 0, b.failed
		}
		return 0, b.end(err)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, b.end(err)
}

func (b *bounded) end(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return err
}
