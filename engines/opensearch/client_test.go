package opensearch

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func clientFor(t *testing.T, server *httptest.Server, change func(*Options)) *client {
	t.Cleanup(server.Close)
	host, port := splitURL(t, server.URL)
	o := Options{Host: host, Port: port}
	if change != nil {
		change(&o)
	}
	c, err := newClient(o.withDefaults())
	require.NoError(t, err)
	t.Cleanup(c.close)
	return c
}

func ask(t *testing.T, c *client) (string, error) {
	var body bytes.Buffer
	err := c.do(t.Context(), request{method: "GET", path: "/x", params: query("q", "v"), timeout: 2 * time.Second,
		into: func(r io.Reader) error { _, err := body.ReadFrom(r); return err }})
	return body.String(), err
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("credentials went to a stranger") }))
	defer stranger.Close()
	c := clientFor(t, httptest.NewServer(http.RedirectHandler(stranger.URL, http.StatusTemporaryRedirect)),
		func(o *Options) { o.Credentials = testCredentials })
	_, err := ask(t, c)
	require.EqualError(t, err, "GET /x: opensearch answered 307 Temporary Redirect")
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
		o.Credentials = func() (string, Secret, error) {
			if password == "" {
				return "", Secret{}, errors.New("read credentials: password is missing")
			}
			return "ann", NewSecret(password), nil
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
	for name, c := range map[string]struct {
		status     int
		body, says string
	}{
		"json": {400, `{"error":{"root_cause":[],"type":"illegal_argument_exception","reason":"unknown\n setting"},"status":400}`,
			"GET /x: opensearch answered 400 Bad Request: illegal_argument_exception: unknown setting"},
		"no words": {503, `{"error":{"type":"master_not_discovered_exception","reason":null},"status":503}`,
			"GET /x: opensearch answered 503 Service Unavailable: master_not_discovered_exception"},
		"plain text":    {401, "Unauthorized ann:" + testPassword, "GET /x: opensearch answered 401 Unauthorized"},
		"a proxy":       {502, "<html>" + testPassword + "</html>", "GET /x: opensearch answered 502 Bad Gateway"},
		"text as error": {405, `{"error":"Incorrect HTTP method","status":405}`, "GET /x: opensearch answered 405 Method Not Allowed"},
		"echoed":        {403, `{"error":{"type":"security_exception","reason":"no ` + testPassword + ` no"}}`, "GET /x: opensearch answered 403 Forbidden: security_exception: no [hidden] no"},
		"unprintable":   {400, `{"error":{"type":"a\u0000\u001b[31mb"}}`, "GET /x: opensearch answered 400 Bad Request: a[31mb"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			_, err := ask(t, clientFor(t, server, func(o *Options) { o.Credentials = testCredentials }))
			require.EqualError(t, err, c.says)
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	for size, fits := range map[int]bool{99: true, 100: true, 101: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, size)) }))
		_, err := ask(t, clientFor(t, server, func(o *Options) { o.MaxBytes = 100 }))
		if fits {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "GET /x: read the answer: answer is longer than the limit")
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
