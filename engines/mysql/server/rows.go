package server

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// row is one row of an answer, by the column's name in lower case: the order of
// columns changes with versions. NULL is not in it.
type row map[string]string

// maxRows bounds the rows of an answer.
const maxRows = 4096

// maxCells bounds the cells of all rows: a cell takes about 100 bytes, whatever is in it.
const maxCells = 1 << 16

// maxField bounds a value, in bytes.
const maxField = 1 << 20

// rows asks. Only what belongs to the server itself is asked so, never a user's data.
func (s session) rows(ctx context.Context, needs, query string, args ...any) ([]row, error) {
	if err := s.free(ctx, query); err != nil {
		return nil, err
	}
	began := time.Now()
	out, err := s.query(ctx, needs, query, args...)
	if err != nil && ctx.Err() != nil {
		s.of.unanswered.left(query, began)
	}
	return out, err
}

func (s session) query(ctx context.Context, needs, query string, args ...any) ([]row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := s.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.of.failure(err, needs)
	}
	defer func() {
		cancel() // the rest of an answer that is too long is not waited for
		_ = answer.Close()
	}()
	out, err := read(answer)
	if err != nil {
		return nil, s.of.failure(err, needs)
	}
	return out, s.of.failure(answer.Close(), needs)
}

func read(answer *sql.Rows) ([]row, error) {
	names, err := answer.Columns()
	if err != nil {
		return nil, err
	}
	tooLarge := func() ([]row, error) {
		engines.CountTooLarge()
		return nil, errTooLarge
	}
	if len(names) > maxColumns {
		return tooLarge()
	}
	var out []row
	for answer.Next() {
		if len(out) == maxRows || (len(out)+1)*len(names) > maxCells {
			return tooLarge()
		}
		values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := answer.Scan(into...); err != nil {
			return nil, err
		}
		r := row{}
		for i, v := range values {
			if len(v) > maxField {
				return tooLarge()
			}
			if v != nil {
				r[strings.ToLower(names[i])] = string(v)
			}
		}
		out = append(out, r)
	}
	return out, answer.Err()
}

// one is for questions with exactly one answer.
func (s session) one(ctx context.Context, needs, query string, args ...any) (row, error) {
	out, err := s.rows(ctx, needs, query, args...)
	if err != nil {
		return nil, err
	}
	if len(out) != 1 {
		return nil, fmt.Errorf("%d rows: must be one", len(out))
	}
	return out[0], nil
}

// do is for statements that answer nothing.
func (s session) do(ctx context.Context, needs, query string, args ...any) error {
	if err := s.free(ctx, query); err != nil {
		return err
	}
	began := time.Now()
	_, err := s.ExecContext(ctx, query, args...)
	if err != nil && ctx.Err() != nil {
		s.of.unanswered.left(query, began)
	}
	return s.of.failure(err, needs)
}

// first returns the first of the names that the row has: flavors and versions call things
// differently.
func (r row) first(names ...string) (string, bool) {
	for _, n := range names {
		if v, ok := r[n]; ok {
			return v, true
		}
	}
	return "", false
}

// text returns the text of the first of the names; empty when none is there.
func (r row) text(names ...string) string {
	v, _ := r.first(names...)
	return v
}

// words returns the words of the first of the names, fit to be shown.
func (r row) words(names ...string) string { return engines.OneLine(r.text(names...)) }

// number returns the number of the first of the names that is one.
func (r row) number(names ...string) (uint64, bool) {
	v, ok := r.first(names...)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(v, 10, 63)
	return n, err == nil
}

// on reads a switch: what is not known to be on or off is neither.
func (r row) on(names ...string) (on, known bool) {
	v, ok := r.first(names...)
	if !ok {
		return false, false
	}
	return isOn(v)
}

func isOn(v string) (on, known bool) {
	switch strings.ToUpper(v) {
	case "1", "ON", "YES", "TRUE":
		return true, true
	case "0", "OFF", "NO", "FALSE":
		return false, true
	}
	return false, false
}

// seconds returns the seconds of the first of the names.
func (r row) seconds(names ...string) (time.Duration, bool) {
	n, ok := r.number(names...)
	const century = 100 * 365 * 24 * 3600
	return time.Duration(n) * time.Second, ok && n < century
}

// pairs makes one row of the answers Variable_name and Value.
func pairs(rows []row) row {
	out := row{}
	for _, r := range rows {
		if v, ok := r["value"]; ok {
			out[strings.ToLower(r["variable_name"])] = v
		}
	}
	return out
}
