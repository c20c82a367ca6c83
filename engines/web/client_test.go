package web

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/credentials"
)

const testPassword = "correct-horse-battery"

func testCredentials() (string, credentials.Secret, error) {
	return "rollcall", credentials.NewSecret(testPassword), nil
}

func testOptions(host string, port int) Options {
	return Options{
		Access: Access{Host: host, Port: port, Timeout: time.Minute, MaxBytes: 1 << 20},
		Server: "server", Connections: 1,
		Words: func(body []byte) (string, string) {
			kind, words, _ := strings.Cut(string(body), "|")
			return kind, words
		},
	}
}

func clientFor(t *testing.T, server *httptest.Server, change func(*Options)) *Client {
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	o := testOptions(u.Hostname(), port)
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func ask(t *testing.T, c *Client) (string, error) {
	var body bytes.Buffer
	err := c.Do(t.Context(), Request{Method: "GET", Path: "/x", Params: Query("q", "v"), Timeout: time.Minute,
		Read: func(r io.Reader) error { _, err := body.ReadFrom(r); return err }})
	return body.String(), err
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("credentials went to a stranger") }))
	defer stranger.Close()
	c := clientFor(t, httptest.NewServer(http.RedirectHandler(stranger.URL, http.StatusTemporaryRedirect)),
		func(o *Options) { o.Credentials = testCredentials })
	_, err := ask(t, c)
	require.ErrorContains(t, err, "GET /x: server answered 307 Temporary Redirect")
}

func TestProxiesAreNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	c := clientFor(t, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })), nil)
	require.Nil(t, c.transport.Proxy)
	_, err := ask(t, c)
	require.NoError(t, err)
}

func TestCredentialsAreAskedEachTime(t *testing.T) {
	password := "old"
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, given, _ := r.BasicAuth()
		seen = append(seen, user+":"+given)
		_, _ = w.Write([]byte("{}"))
	}))
	c := clientFor(t, server, func(o *Options) {
		o.Credentials = func() (string, credentials.Secret, error) {
			if password == "" {
				return "", credentials.Secret{}, errors.New("read credentials: password is missing")
			}
			return "ann", credentials.NewSecret(password), nil
		}
	})
	_, err := ask(t, c)
	require.NoError(t, err)
	password = "new"
	_, err = ask(t, c)
	require.NoError(t, err)
	password = ""
	_, err = ask(t, c)
	require.EqualError(t, err, "GET /x: read credentials: password is missing")
	require.Equal(t, []string{"ann:old", "ann:new"}, seen)
}

func TestErrorTexts(t *testing.T) {
	token := BasicToken("rollcall", credentials.NewSecret(testPassword))
	for name, c := range map[string]struct {
		status     int
		body, says string
	}{
		"kind and words": {400, "bad_setting|unknown\n setting", "GET /x: server answered 400 Bad Request: bad_setting: unknown setting"},
		"kind only":      {503, "no_manager", "GET /x: server answered 503 Service Unavailable: no_manager"},
		"words only":     {500, "|session expired", "GET /x: server answered 500 Internal Server Error: session expired"},
		"nothing":        {502, "", "GET /x: server answered 502 Bad Gateway"},
		"no such status": {799, "", "GET /x: server answered 799"},
		"echoed":         {403, "no " + testPassword + " no|" + token, "GET /x: server answered 403 Forbidden: no [hidden] no: [hidden]"},
		"unprintable":    {400, "a\x00\x1b[31mb", "GET /x: server answered 400 Bad Request: a[31mb"},
		"endless":        {400, strings.Repeat("é", 2<<20), "GET /x: server answered 400 Bad Request: " + strings.Repeat("é", 300) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			_, err := ask(t, clientFor(t, server, func(o *Options) { o.Credentials = testCredentials }))
			require.EqualError(t, err, c.says)
			s, ok := Status(err)
			require.True(t, ok)
			require.Equal(t, c.status == 401 || c.status == 403, s.Denied())
		})
	}
}

// Some servers report a failure only in the body.
func TestReaderFindsAFailure(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	c := clientFor(t, server, func(o *Options) { o.Credentials = testCredentials })
	err := c.Do(t.Context(), Request{Path: "/x", Name: "/x LOOK", Timeout: time.Minute, Read: func(io.Reader) error {
		return &StatusError{Status: 400, Message: "no " + testPassword}
	}})
	require.EqualError(t, err, "/x LOOK: server answered 400 Bad Request: no [hidden]")
}

// Some servers put what was asked for into the body of a refusal.
func TestRefusalsCanBeRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("not well"))
	}))
	var read []byte
	err := clientFor(t, server, nil).Do(t.Context(), Request{Path: "/x", Timeout: time.Minute, ReadRefusal: func(b []byte) { read = b }})
	require.EqualError(t, err, "/x: server answered 503 Service Unavailable: not well")
	require.Equal(t, "not well", string(read))
}

func TestBodiesAreJSON(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, r.Method, r.URL, r.Header.Get("Content-Type"), string(body))
	}))
	var said bytes.Buffer
	err := clientFor(t, server, nil).Do(t.Context(), Request{Method: "PUT", Path: "/x", Timeout: time.Minute, Body: map[string]any{"a": nil},
		Read: func(r io.Reader) error { _, err := said.ReadFrom(r); return err }})
	require.NoError(t, err)
	require.Equal(t, `PUT/xapplication/json{"a":null}`, said.String())
}

func TestClosed(t *testing.T) {
	c := clientFor(t, httptest.NewServer(nil), nil)
	c.Close()
	c.Close()
	_, err := ask(t, c)
	require.ErrorIs(t, err, ErrClosed)
}

func TestAnswersAreBounded(t *testing.T) {
	for size, fits := range map[int]bool{99: true, 100: true, 101: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, size)) }))
		_, err := ask(t, clientFor(t, server, func(o *Options) { o.MaxBytes = 100 }))
		if fits {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "GET /x: read the answer: answer is larger than the limit of 100 bytes")
	}
}

// A long path or query is of no use in an error.
func TestErrorsNameThePathOnly(t *testing.T) {
	server := httptest.NewServer(nil)
	c := clientFor(t, server, nil)
	server.Close()
	_, err := ask(t, c)
	require.ErrorContains(t, err, "GET /x: dial tcp")
	require.NotContains(t, err.Error(), "q=v")
}

func TestTLSIsVerified(t *testing.T) {
	start := func() *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
		s.Config.ErrorLog = quiet
		s.StartTLS()
		return s
	}
	caOf := func(s *httptest.Server) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	}
	for name, c := range map[string]struct {
		tls  func(s *httptest.Server) TLS
		fail string
	}{
		"own CA":            {func(s *httptest.Server) TLS { return TLS{Enabled: true, CA: caOf(s)} }, ""},
		"own CA and name":   {func(s *httptest.Server) TLS { return TLS{Enabled: true, CA: caOf(s), ServerName: "example.com"} }, ""},
		"another name":      {func(s *httptest.Server) TLS { return TLS{Enabled: true, CA: caOf(s), ServerName: "other.test"} }, "not other.test"},
		"system's roots":    {func(*httptest.Server) TLS { return TLS{Enabled: true} }, "x509"},
		"verification off":  {func(*httptest.Server) TLS { return TLS{Enabled: true, InsecureSkipVerify: true} }, ""},
		"plain, server TLS": {func(*httptest.Server) TLS { return TLS{} }, "400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start()
			_, err := ask(t, clientFor(t, s, func(o *Options) { o.TLS = c.tls(s) }))
			if c.fail == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.fail)
			}
		})
	}
}
