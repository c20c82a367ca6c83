package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Decoder reads large JSON answers a piece at a time, so that no more of one is in
// memory than what is kept of it and the piece at hand.
type Decoder struct {
	json *json.Decoder
	in   *valve
}

// MaxName bounds the names of fields: no database lets people name anything as long.
// Names are put together to others, once for each thing that they are the name of.
const MaxName = 512

// NewDecoder reads what is Bounded already, as the body of a Request is.
func NewDecoder(from io.Reader) *Decoder {
	in := &valve{from: from, until: math.MaxInt64}
	d := &Decoder{json: json.NewDecoder(in), in: in}
	d.json.UseNumber()
	return d
}

// valve lets so many bytes through.
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

// ErrNotObject means that another value is where an object should be.
var ErrNotObject = errors.New("want an object")

// Object reads an object and has the value of each field read. There is false where null
// is in its place.
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
	_, err = d.json.Token() // what breaks off is an error here
	return true, err
}

// Value reads one value of at most so many bytes, spaces before it included.
func (d *Decoder) Value(most int64, into any) error {
	d.in.most, d.in.until = most, d.json.InputOffset()+most
	defer func() { d.in.until = math.MaxInt64 }()
	return d.json.Decode(into)
}

// Skip reads over one value, of whatever size.
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
			return fmt.Errorf("want a value: %v", token)
		}
		if depth == 0 {
			return nil
		}
	}
}

// Texts keeps one string for each text that comes again and again.
type Texts map[string]string

// One is the string that is kept for the text.
func (t Texts) One(text string) string {
	if same, ok := t[text]; ok {
		return same
	}
	t[text] = text
	return text
}
