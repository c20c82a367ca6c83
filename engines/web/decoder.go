package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Decoder reads large JSON answers a piece at a time, so that only the current piece and what was
// kept of the others are in memory.
type Decoder struct {
	json *json.Decoder
	in   *valve
}

// MaxName bounds the names of fields. No database allows longer names. Names are joined to longer
// ones, once for each object that they name.
const MaxName = 512

// NewDecoder returns a decoder of a reader that is already Bounded, such as the body of a Request.
func NewDecoder(from io.Reader) *Decoder {
	in := &valve{from: from, until: math.MaxInt64}
	d := &Decoder{json: json.NewDecoder(in), in: in}
	d.json.UseNumber()
	return d
}

// valve lets a limited number of bytes through.
type valve struct {
	from          io.Reader
	passed, until int64
	most          int64
}

func (v *valve) Read(p []byte) (int, error) {
	left := v.until - v.passed
	if left <= 0 {
		return 0, larger(v.most, "bytes in one piece")
	}
	if int64(len(p)) > left {
		p = p[:left]
	}
	n, err := v.from.Read(p)
	v.passed += int64(n)
	return n, err
}

// ErrNotObject means that there is another value in place of an object.
var ErrNotObject = errors.New("must be an object")

// Object reads an object and calls field for each field, which must read the value. It returns
// false if there is null in its place.
func (d *Decoder) Object(field func(name string) error) (there bool, err error) {
	switch open, err := d.json.Token(); {
	case err != nil:
		return false, err
	case open == nil:
		return false, nil
	case open != json.Delim('{'):
		return true, ErrNotObject
	}
	for d.json.More() {
		key, err := d.json.Token()
		if err != nil {
			return true, err
		}
		name, ok := key.(string)
		if !ok {
			return true, ErrNotObject
		}
		if len(name) > MaxName {
			return true, larger(MaxName, "bytes in a name")
		}
		if err := field(name); err != nil {
			return true, err
		}
	}
	_, err = d.json.Token() // truncated input is an error here
	return true, err
}

// Value reads one value of at most this many bytes, including the spaces before it.
func (d *Decoder) Value(most int64, into any) error {
	d.in.most, d.in.until = most, d.json.InputOffset()+most
	defer func() { d.in.until = math.MaxInt64 }()
	return d.json.Decode(into)
}

// Skip skips one value of any size.
func (d *Decoder) Skip() error {
	for depth := 0; ; {
		token, err := d.json.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth < 0 {
			return fmt.Errorf("must be a value: %v", token)
		}
		if depth == 0 {
			return nil
		}
	}
}

// Texts interns strings that occur many times.
type Texts map[string]string

// One returns the interned string for the text.
func (t Texts) One(text string) string {
	if same, ok := t[text]; ok {
		return same
	}
	t[text] = text
	return text
}
