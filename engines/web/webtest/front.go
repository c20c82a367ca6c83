// Package webtest has a proxy before servers, fake or real, for the tests of adapters that speak
// HTTP.
package webtest

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// Manners describe a database's answers when something is wrong.
type Manners struct {
	// Changes reports whether a request changes something.
	Changes func(*http.Request) bool
	// Endless is the beginning of an answer that does not end, within a string.
	Endless string
	// Stranger is a well-formed answer of another kind of server.
	Stranger string
	// Deny refuses the credentials, and repeats them.
	Deny func(w http.ResponseWriter, token, plain string)
	// Fail answers with the database's own error; while is "change" or "request".
	Fail func(w http.ResponseWriter, while string)
}

// Front is a proxy before a server that misbehaves on request.
type Front struct {
	http.Handler
	Manners Manners
	// Allowed is the number of allowed changes; several fronts may share it.
	Allowed *Allowance

	mu    sync.Mutex
	fault enginetest.Fault
}

// Set makes it misbehave in this way.
func (f *Front) Set(fault enginetest.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	switch fault {
	case enginetest.Healthy:
		if f.Manners.Changes(r) && !f.Allowed.allow() {
			f.Manners.Fail(w, "change")
			return
		}
		f.Handler.ServeHTTP(w, r)
	case enginetest.Gone:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	case enginetest.Hung:
		<-r.Context().Done()
	case enginetest.Garbage:
		fmt.Fprint(w, "\x00\x01\xfe{]not what was asked for")
	case enginetest.Endless:
		fmt.Fprint(w, f.Manners.Endless)
		for chunk := strings.Repeat("a", 32<<10); ; {
			if _, err := fmt.Fprint(w, chunk); err != nil {
				return
			}
		}
	case enginetest.Truncated:
		whole := httptest.NewRecorder()
		f.Handler.ServeHTTP(whole, r)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	case enginetest.WrongServer:
		fmt.Fprint(w, f.Manners.Stranger)
	case enginetest.Denied:
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, _ := base64.StdEncoding.DecodeString(token)
		f.Manners.Deny(w, token, string(plain))
	case enginetest.Failing:
		f.Manners.Fail(w, "request")
	}
}

// Allowance lets a number of changes through; negative means all.
type Allowance struct {
	mu   sync.Mutex
	left int
}

// Set restarts the count.
func (a *Allowance) Set(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = n
}

func (a *Allowance) allow() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left > 0 {
		a.left--
		return true
	}
	return a.left < 0
}

// Connections counts the connections of all servers that report to it.
type Connections struct {
	mu   sync.Mutex
	open int
}

// State is for http.Server.ConnState.
func (c *Connections) State(_ net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open++
	case http.StateClosed, http.StateHijacked:
		c.open--
	}
}

// Open returns how many connections are open.
func (c *Connections) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// Address returns the host and port of a URL.
func Address(t testing.TB, raw string) (host string, port int) {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	port, err = strconv.Atoi(u.Port())
	require.NoError(t, err)
	return u.Hostname(), port
}
