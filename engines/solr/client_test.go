package solr

import (
	"bytes"
	"encoding/pem"
	"errors"
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
	err := c.do(t.Context(), request{path: "/solr/x", params: query("action", "LOOK", "q", "v"), timeout: 2 * time.Second, into: &body})
	return body.String(), err
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("credentials went to a stranger") }))
	defer stranger.Close()
	c := clientFor(t, httptest.NewServer(http.RedirectHandler(stranger.URL, http.StatusTemporaryRedirect)),
		func(o *Options) { o.Credentials = testCredentials })
	_, err := ask(t, c)
	require.EqualError(t, err, "/solr/x LOOK: solr answered 307 Temporary Redirect")
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
	require.EqualError(t, err, "/solr/x LOOK: read credentials: password is missing")
	require.Equal(t, []string{"ann:old", "ann:new"}, seen)
}

func TestErrorTexts(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, says string
	}{
		"json error": {500, `{"responseHeader":{"status":500},"error":{"msg":"KeeperErrorCode\n = Session expired","code":500}}`,
			"/solr/x LOOK: solr answered 500 Internal Server Error: KeeperErrorCode = Session expired"},
		"html": {401, `<html><head><title>Error 401 require authentication</title></head><body><h2>HTTP ERROR 401</h2></body></html>`,
			"/solr/x LOOK: solr answered 401 Unauthorized: Error 401 require authentication"},
		"other text":       {502, "upstream ann:" + testPassword, "/solr/x LOOK: solr answered 502 Bad Gateway"},
		"error with 200":   {200, `{"responseHeader":{"status":0},"error":{"msg":"no","code":400}}`, "/solr/x LOOK: solr answered 400 Bad Request: no"},
		"status with 200":  {200, `{"responseHeader":{"status":"500"}}`, "/solr/x LOOK: solr answered 500 Internal Server Error"},
		"exception":        {200, `{"exception":{"msg":"Collection: x not found","rspCode":400}}`, "/solr/x LOOK: solr answered 400 Bad Request: Collection: x not found"},
		"echoed":           {403, `{"error":{"msg":"no ` + testPassword + ` no","code":403}}`, "/solr/x LOOK: solr answered 403 Forbidden: no [hidden] no"},
		"unprintable":      {400, `{"error":{"msg":"a\u0000\u001b[31mb","code":400}}`, "/solr/x LOOK: solr answered 400 Bad Request: a[31mb"},
		"health's message": {503, `{"status":"FAILURE","message":"Host Unavailable: Not connected to zk"}`, "/solr/x LOOK: solr answered 503 Service Unavailable: Host Unavailable: Not connected to zk"},
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 101)) }))
	_, err := ask(t, clientFor(t, server, func(o *Options) { o.MaxBytes = 100 }))
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "/solr/x LOOK: answer is longer than the limit of 100 bytes")
}

// A long path or query is of no use in an error.
func TestErrorsNameThePathOnly(t *testing.T) {
	server := httptest.NewServer(nil)
	c := clientFor(t, server, nil)
	server.Close()
	_, err := ask(t, c)
	require.ErrorContains(t, err, "/solr/x LOOK: dial tcp")
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
