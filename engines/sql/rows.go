package sql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Row is one row of an answer, by the column's name in lower case: the order of
// columns changes with versions. NULL is not in it.
type Row map[string]string

// maxRows bounds the rows of an answer.
const maxRows = 4096

// MaxCells bounds the cells of all rows: a cell takes about 100 bytes, whatever is in it.
const MaxCells = 1 << 16

// maxField bounds a value, in bytes.
const maxField = 1 << 20

// Rows asks. Only what belongs to the server itself is asked so, never a user's data.
func (s Session) Rows(ctx context.Context, needs, query string, args ...any) ([]Row, error) {
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

func (s Session) query(ctx context.Context, needs, query string, args ...any) ([]Row, error) {
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

func read(answer *sql.Rows) ([]Row, error) {
	names, err := answer.Columns()
	if err != nil {
		return nil, err
	}
	tooLarge := func() ([]Row, error) {
		engines.CountTooLarge()
		return nil, ErrTooLarge
	}
	if len(names) > maxColumns {
		return tooLarge()
	}
	var out []Row
	for answer.Next() {
		if len(out) == maxRows || (len(out)+1)*len(names) > MaxCells {
			return tooLarge()
		}
		values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := answer.Scan(into...); err != nil {
			return nil, err
		}
		r := Row{}
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

// One is for questions with exactly one answer.
func (s Session) One(ctx context.Context, needs, query string, args ...any) (Row, error) {
	out, err := s.Rows(ctx, needs, query, args...)
	if err != nil {
		return nil, err
	}
	if len(out) != 1 {
		return nil, fmt.Errorf("%d rows: must be one", len(out))
	}
	return out[0], nil
}

// Do is for statements that answer nothing.
func (s Session) Do(ctx context.Context, needs, query string, args ...any) error {
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

// First returns the first of the names that the row has: flavors and versions call things
// differently.
func (r Row) First(names ...string) (string, bool) {
	for _, n := range names {
		if v, ok := r[n]; ok {
			return v, true
		}
	}
	return "", false
}

// Text returns the text of the first of the names; empty when none is there.
func (r Row) Text(names ...string) string {
	v, _ := r.First(names...)
	return v
}

// Words returns the words of the first of the names, fit to be shown.
func (r Row) Words(names ...string) string { return engines.OneLine(r.Text(names...)) }

// Number returns the number of the first of the names that is one.
func (r Row) Number(names ...string) (uint64, bool) {
	v, ok := r.First(names...)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(v, 10, 63)
	return n, err == nil
}

// On reads a switch: what is not known to be on or off is neither.
func (r Row) On(names ...string) (on, known bool) {
	v, ok := r.First(names...)
	if !ok {
		return false, false
	}
	return IsOn(v)
}

func IsOn(v string) (on, known bool) {
	switch strings.ToUpper(v) {
	case "1", "ON", "YES", "TRUE":
		return true, true
	case "0", "OFF", "NO", "FALSE":
		return false, true
	}
	return false, false
}

// Seconds returns the seconds of the first of the names.
func (r Row) Seconds(names ...string) (time.Duration, bool) {
	n, ok := r.Number(names...)
	const century = 100 * 365 * 24 * 3600
	return time.Duration(n) * time.Second, ok && n < century
}

// Pairs makes one row of the answers Variable_name and Value.
func Pairs(rows []Row) Row {
	out := Row{}
	for _, r := range rows {
		if v, ok := r["value"]; ok {
			out[strings.ToLower(r["variable_name"])] = v
		}
	}
	return out
}
