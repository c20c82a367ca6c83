package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/credentials"
)

// raw returns every request with these bytes.
func raw(t *testing.T, answer string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, answer)
	}))
}

// A server can put what it was sent into anything that becomes part of an error.
func TestErrorsOfReadersAreShown(t *testing.T) {
	c := clientFor(t, raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), func(o *Options) { o.Credentials = testCredentials })
	for name, said := range map[string]string{
		"password": "name " + testPassword + ": must be a number",
		"token":    "name " + BasicToken("rollcall", credentials.NewSecret(testPassword)),
		"lines":    "name \x1b[31m\nx",
		"endless":  strings.Repeat("é", 2<<20),
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Do(t.Context(), Request{Path: "/x", Timeout: time.Minute, Read: func(io.Reader) error {
				return fmt.Errorf("%s: %w", said, io.ErrUnexpectedEOF)
			}})
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.Less(t, len(err.Error()), 1000)
			require.NotRegexp(t, testPassword+`|cm9sbGNhbGw|\x1b|\n`, err.Error())
		})
	}
	var number json.Number
	err := c.Do(t.Context(), Request{Path: "/x", Timeout: time.Minute, Read: func(r io.Reader) error { return json.NewDecoder(r).Decode(&number) }})
	require.EqualError(t, err, "/x: json: cannot unmarshal object into Go value of type json.Number", "plain errors stay as they are")
}

// An answer need not be HTTP.
func TestErrorsOfTheProtocolAreShown(t *testing.T) {
	token := BasicToken("rollcall", credentials.NewSecret(testPassword))
	for name, answer := range map[string]string{
		"header":  "HTTP/1.1 200 OK\r\nBasic " + token + "\r\n\r\n",
		"status":  "HTTP/1.1 " + testPassword + "\r\n\r\n",
		"no HTTP": testPassword + strings.Repeat("x", 3000) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, clientFor(t, raw(t, answer), func(o *Options) { o.Credentials = testCredentials }))
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1000)
			require.NotContains(t, err.Error(), testPassword)
			require.NotContains(t, err.Error(), token)
		})
	}
}
