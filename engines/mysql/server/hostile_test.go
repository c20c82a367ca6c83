package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/sql"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

// many is how an answer begins that has so many columns.
func many(columns uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{0xfe}, columns) }

// columnNames are those of so many columns.
func columnNames(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// TestHostileAnswers checks that whatever a server answers, its agent stays within its memory and
// says that it knows nothing, and why.
func TestHostileAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w *mysqltest.Wire, q string) error
		says   string
	}{
		"a column for each byte of the world": {func(w *mysqltest.Wire, _ string) error { return w.Send(many(1 << 40)) }, sql.ErrTooLarge.Error()},
		"millions of columns":                 {func(w *mysqltest.Wire, _ string) error { return w.Send(many(50_000_000)) }, sql.ErrTooLarge.Error()},
		"thousands of columns":                {func(w *mysqltest.Wire, _ string) error { return w.Send([]byte{0xfc, 0, 16}) }, sql.ErrTooLarge.Error()},
		"many cells": {func(w *mysqltest.Wire, _ string) error {
			err := w.Columns(columnNames(200)...)
			for err == nil {
				err = w.Send(bytes.Repeat(mysqltest.Text("a"), 200))
			}
			return err
		}, sql.ErrTooLarge.Error()},
		"a long packet that does not come": {func(w *mysqltest.Wire, _ string) error {
			if err := w.Columns("version"); err != nil {
				return err
			}
			_, err := w.Write([]byte{0xff, 0xff, 0xff, w.Seq})
			return err
		}, "no answer in time"},
		"a file of the agent": {func(w *mysqltest.Wire, _ string) error { return w.Send(append([]byte{0xfb}, "/etc/passwd"...)) }, "local file '/etc/passwd' is not registered"},
	} {
		t.Run(name, func(t *testing.T) {
			o := listen(t, mysqltest.Speaking(c.answer))
			o.Timeout = 2 * time.Second
			l, err := New(o)
			require.NoError(t, err)
			defer l.Close()
			refused := engines.TooLarge()
			peak := webtest.Peak(t, func() {
				s, err := l.Look(t.Context())
				require.NoError(t, err)
				require.False(t, s.Serving || s.Down)
				require.Contains(t, s.Problem, c.says)
			})
			require.Less(t, peak.Held, int64(webtest.AgentLimit*7/10))
			if c.says == sql.ErrTooLarge.Error() {
				require.Greater(t, engines.TooLarge(), refused)
			}
		})
	}
}

// TestCellsAreBounded checks that no answer that is asked for has as many, in bytes it would fit.
func TestCellsAreBounded(t *testing.T) {
	const columns = 200
	for rows, fits := range map[int]bool{sql.MaxCells / columns: true, sql.MaxCells/columns + 1: false} {
		o := listen(t, mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error {
			err := w.Columns(columnNames(columns)...)
			for range rows {
				if err == nil {
					err = w.Send(make([]byte, columns)) // each is an empty text
				}
			}
			if err != nil {
				return err
			}
			return w.Send(mysqltest.EOF)
		}))
		o.Access = WithDefaults(o.Access)
		c, err := sql.Connect(o.Access)
		require.NoError(t, err)
		s, err := c.Session(t.Context())
		require.NoError(t, err)
		out, err := s.Rows(t.Context(), "", "SELECT 1")
		if fits {
			require.NoError(t, err)
			require.Len(t, out, rows)
		} else {
			require.ErrorIs(t, err, sql.ErrTooLarge)
		}
		s.End(false)
		require.NoError(t, c.Close())
	}
}
