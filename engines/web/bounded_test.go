package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

var tight = Limits{Bytes: 100, Depth: 3, Objects: 4, Values: 8, Text: 10}

func TestBounds(t *testing.T) {
	for in, says := range map[string]string{
		strings.Repeat("{}", 51): "4 objects and lists",
		strings.Repeat(":", 101): "100 bytes",
		`[[[]]]`:                 "",
		`[[[[]]]]`:               "3 levels of objects in each other",
		`[{"a":[{}`:              "3 levels of objects in each other",
		`[[],[],[]]`:             "",
		`[[],[],[],{}]`:          "4 objects and lists",
		`[0,0,0,0,0,0,0,0]`:      "",
		`[0,0,0,0,0,0,0,0,0]`:    "8 values",
		`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0}`: "",
		`["0123456789"]`:     "",
		`["0123456789a"]`:    "10 bytes in one text",
		`{"0123456789a":0}`:  "10 bytes in one text",
		`[0123456789012]`:    "10 bytes in one text",
		`[             ]`:    "10 bytes in one text",
		`["{{{{{{{{{"]`:      "",
		`["[[\"[[[["]`:       "",
		`["\\",{},{},{}]`:    "",
		`["\\",{},{},{},{}]`: "4 objects and lists",
		`<html>`:             "",
	} {
		before := engines.TooLarge()
		b := NewBounded(iotest.OneByteReader(strings.NewReader(in)), tight)
		out, err := io.ReadAll(b)
		if says == "" {
			require.NoError(t, err, in)
			require.Equal(t, in, string(out))
			require.NoError(t, b.Failed())
			require.Equal(t, before, engines.TooLarge())
			continue
		}
		require.ErrorIs(t, err, ErrTooLarge, in)
		require.EqualError(t, err, "answer is larger than the limit of "+says, in)
		require.Equal(t, err, b.Failed())
		require.Equal(t, before+1, engines.TooLarge(), "counted once")
		_, again := b.Read(make([]byte, 1))
		require.Equal(t, err, again)
	}
}

// TestPiecesAreBounded checks that no more of an answer within its limits is decoded at once than
// is asked for, and that skipped values are not kept.
func TestPiecesAreBounded(t *testing.T) {
	long := `{"a":` + strings.Repeat(`[0],`, 3)[:11] + `,"b":{"c":"` + strings.Repeat("x", 5000) + `"},"d":7}`
	var kept any
	d := NewDecoder(strings.NewReader(strings.Replace(long, `[0],[0],[0]`, `[[0],[0],[0]]`, 1)))
	there, err := d.Object(func(name string) error {
		if name == "d" {
			return d.Value(10, &kept)
		}
		return d.Skip()
	})
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, json.Number("7"), kept)

	d = NewDecoder(iotest.OneByteReader(strings.NewReader(`{"b":"` + strings.Repeat("x", 5000) + `"}`)))
	_, err = d.Object(func(string) error { return d.Value(1000, &kept) })
	require.EqualError(t, err, "answer is larger than the limit of 1000 bytes in one piece")
	d = NewDecoder(strings.NewReader(`{"` + strings.Repeat("x", MaxName+1) + `":0}`))
	_, err = d.Object(func(string) error { return d.Skip() })
	require.EqualError(t, err, "answer is larger than the limit of 512 bytes in a name")
	for in, want := range map[string]error{`[]`: ErrNotObject, `7`: ErrNotObject, `{"a":}`: nil, `{"a":1`: io.EOF, `{"a"`: nil} {
		d = NewDecoder(strings.NewReader(in))
		_, err = d.Object(func(string) error { return d.Skip() })
		require.Error(t, err, in)
		if want != nil {
			require.ErrorIs(t, err, want, in)
		}
	}
	there, err = NewDecoder(strings.NewReader(`null`)).Object(nil)
	require.NoError(t, err)
	require.False(t, there)
}

// TestSlowAnswersEnd checks that a server that sends a byte now and then is waited for as long as
// one that sends none.
func TestSlowAnswersEnd(t *testing.T) {
	for name, serve := range map[string]func(w http.ResponseWriter, r *http.Request){
		"body": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		},
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			for _, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "); err == nil; _, err = io.WriteString(c, "a") {
				time.Sleep(10 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientFor(t, httptest.NewServer(http.HandlerFunc(serve)), nil)
			err := c.Do(t.Context(), Request{Path: "/x", Timeout: 200 * time.Millisecond})
			require.ErrorContains(t, err, "context deadline exceeded")
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	c := clientFor(t, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("a", maxHeader))
	})), nil)
	_, err := ask(t, c)
	require.ErrorContains(t, err, fmt.Sprintf("server response headers exceeded %d bytes", maxHeader))
}

// whole decodes the whole input within the limits.
func whole(in []byte, limits Limits) (any, error) {
	var all any
	err := json.NewDecoder(NewBounded(bytes.NewReader(in), limits)).Decode(&all)
	return all, err
}

// FuzzBounded checks that input within the limits comes through unchanged, and that neither such
// input nor any other takes more memory than the limits allow.
func FuzzBounded(f *testing.F) {
	f.Add([]byte(`{"cluster":{"live_nodes":["a"],"x":[{},{},[[]]]}}`))
	f.Add(bytes.Repeat([]byte(`{"a":`), 100))
	f.Add([]byte("[" + strings.Repeat("{},", 3000) + "{}]"))
	f.Add([]byte("[" + strings.Repeat("0,", 9000) + "0]"))
	f.Add([]byte(`"` + strings.Repeat(`\"`, 3000) + `"`))
	f.Add(bytes.Repeat([]byte(" "), 30_000))
	limits := Limits{Bytes: 32 << 10, Depth: 16, Objects: 256, Values: 1024, Text: 4 << 10}
	f.Fuzz(func(t *testing.T, in []byte) {
		b := NewBounded(bytes.NewReader(in), limits)
		out, err := io.ReadAll(b)
		require.Equal(t, err, b.Failed())
		if err == nil {
			require.True(t, bytes.Equal(in, out))
		} else {
			require.ErrorIs(t, err, ErrTooLarge)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, decodeErr := whole(in, limits)
		runtime.ReadMemStats(&after)
		if errors.Is(err, ErrTooLarge) && json.Valid(in) {
			require.ErrorIs(t, decodeErr, ErrTooLarge)
		}
		// An object is a map of some 300 bytes, a value an entry of 48 that is copied as the
		// map or list grows; the text is in a buffer that doubles.
		most := uint64(limits.Objects*512 + limits.Values*256 + int(limits.Bytes)*8 + 64<<10)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, most)
		d := NewDecoder(NewBounded(bytes.NewReader(in), limits))
		_, _ = d.Object(func(string) error {
			var any json.RawMessage
			err := d.Value(100, &any)
			require.LessOrEqual(t, len(any), 100)
			return err
		})
	})
}
