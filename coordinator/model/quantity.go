package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// IntOrPercent is a count of at least 1 or a percentage of at least 1%.
//
// Any JSON number or string can be read into it, so that a bad value is
// reported together with the field that it stands in; Resolve and check
// refuse what is not a positive count or percentage. In JSON it is the
// number or the text that was read.
type IntOrPercent struct {
	// Int is the count, when Text is empty.
	Int int64 `json:"-"`
	// Text is what was written as a string ("25%"), or a number that is no integer.
	Text string `json:"-"`
	// empty: an empty string was written.
	empty bool
}

// Count returns the quantity n.
func Count(n int64) IntOrPercent { return IntOrPercent{Int: n} }

// Percent returns the quantity n%.
func Percent(n int64) IntOrPercent { return IntOrPercent{Text: strconv.FormatInt(n, 10) + "%"} }

// String returns the quantity as a person would write it.
func (q IntOrPercent) String() string {
	if q.Text != "" || q.empty {
		return q.Text
	}
	return strconv.FormatInt(q.Int, 10)
}

// maxPercent bounds percentages, so that no product can overflow.
const maxPercent = 1_000_000

func (q IntOrPercent) percent() (int64, error) {
	digits, ok := strings.CutSuffix(q.Text, "%")
	if !ok || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, fmt.Errorf("is %q: must be a count of at least 1 or a percentage of at least 1%%, such as 2 or \"25%%\"", q.Text)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > maxPercent {
		return 0, fmt.Errorf("is %q: must be a percentage from 1%% to %d%%", q.Text, maxPercent)
	}
	return n, nil
}

// check returns nil if the quantity is valid. The error continues a sentence that begins
// with the name of the field.
func (q IntOrPercent) check() error {
	if q.Text != "" || q.empty {
		_, err := q.percent()
		return err
	}
	if q.Int < 1 {
		return fmt.Errorf("is %d: must be a count of at least 1 or a percentage of at least 1%%, such as 2 or \"25%%\"", q.Int)
	}
	return nil
}

// Resolve returns the quantity as a count; a percentage is of the total, rounds down and is
// at least 1. An invalid quantity is an error and counts as 1, the most careful answer.
func (q IntOrPercent) Resolve(total int) (int, error) {
	if err := q.check(); err != nil {
		return 1, err
	}
	n := q.Int
	if q.Text != "" {
		percent, _ := q.percent()
		n = percent * int64(total) / 100
	}
	return int(min(max(n, 1), 1<<31-1)), nil
}

// MarshalJSON writes an integer or a string.
func (q IntOrPercent) MarshalJSON() ([]byte, error) {
	if q.Text != "" || q.empty {
		return json.Marshal(q.Text)
	}
	return strconv.AppendInt(nil, q.Int, 10), nil
}

// UnmarshalJSON reads any number and any string.
func (q *IntOrPercent) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if string(data) == "null" {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*q = IntOrPercent{Text: text, empty: text == ""}
		return nil
	}
	if n, err := strconv.ParseInt(string(data), 10, 64); err == nil {
		*q = IntOrPercent{Int: n}
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("%.40s is neither a count nor a percentage", data)
	}
	*q = IntOrPercent{Text: number.String()}
	return nil
}
