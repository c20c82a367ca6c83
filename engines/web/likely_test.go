package web

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
)

// secured serves over TLS with a certificate, and asks for one if there are clients.
func secured(t *testing.T, cert, key string, clients *authority.Authority) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	server.TLS = pairOf(t, cert, key)
	if clients != nil {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		server.TLS.ClientCAs.AppendCertsFromPEM([]byte(clients.CA))
	}
	server.Config.ErrorLog = nil
	server.StartTLS()
	return server
}

func pairOf(t *testing.T, cert, key string) *tls.Config {
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// TestErrorsSayWhatToChange stages each mistake against a real server.
func TestErrorsSayWhatToChange(t *testing.T) {
	ours, others := authority.New(t, "ours"), authority.New(t, "others")
	cert, key := ours.Issue(authority.Leaf{Name: "server"})
	named, namedKey := ours.Issue(authority.Leaf{Name: "server", Hosts: []string{"db.example", "10.0.0.7"}})
	old, oldKey := ours.Issue(authority.Leaf{Name: "server", NotAfter: time.Now().Add(-time.Hour)})
	client, clientKey := ours.Issue(authority.Leaf{Name: "agent"})
	stranger, strangerKey := others.Issue(authority.Leaf{Name: "agent"})
	expired, expiredKey := ours.Issue(authority.Leaf{Name: "agent", NotAfter: time.Now().Add(-time.Hour)})
	with := func(cert, key string) TLS {
		return TLS{Enabled: true, CA: ours.CA, Cert: cert, Key: credentials.NewSecret(key)}
	}
	plain := func() *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	}
	for name, c := range map[string]struct {
		server *httptest.Server
		tls    TLS
		says   string
	}{
		"all is right":         {secured(t, cert, key, nil), TLS{Enabled: true, CA: ours.CA}, ""},
		"client is known":      {secured(t, cert, key, ours), with(client, clientKey), ""},
		"another name is told": {secured(t, named, namedKey, nil), TLS{Enabled: true, CA: ours.CA, ServerName: "db.example"}, ""},
		"TLS is off":           {secured(t, cert, key, nil), TLS{}, ""}, // a Go server answers in plain text, see below
		"TLS is on":            {plain(), TLS{Enabled: true}, "; the server most likely speaks no TLS: turn spec.connection.tls.enabled off"},
		"no authority":         {secured(t, cert, key, nil), TLS{Enabled: true}, "; name a Secret with the certificate of the server's authority in spec.connection.tls.caSecret"},
		"another authority": {secured(t, cert, key, nil), TLS{Enabled: true, CA: others.CA},
			"; the Secret of spec.connection.tls.caSecret has not the authority that signed the server's certificate"},
		"another name": {secured(t, named, namedKey, nil), TLS{Enabled: true, CA: ours.CA},
			"; the certificate is not for 127.0.0.1, but for db.example, 10.0.0.7: set spec.connection.tls.serverName to one of them"},
		"expired": {secured(t, old, oldKey, nil), TLS{Enabled: true, CA: ours.CA}, "; the server's certificate has expired on "},
		"client is asked": {secured(t, cert, key, ours), TLS{Enabled: true, CA: ours.CA},
			"; the server most likely asks for a client's certificate: name its Secret in spec.connection.tls.clientSecret"},
		"client is a stranger": {secured(t, cert, key, ours), with(stranger, strangerKey), "the certificate in the Secret of spec.connection.tls.clientSecret"},
		"client has expired":   {secured(t, cert, key, ours), with(expired, expiredKey), "the certificate in the Secret of spec.connection.tls.clientSecret"},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientFor(t, c.server, func(o *Options) { o.TLS, o.Advise = c.tls, true })
			_, err := ask(t, client)
			if name == "TLS is off" {
				require.ErrorContains(t, err, "400 Bad Request")
				return
			}
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "PRIVATE KEY")
		})
	}
}

// TestATLSServerIsTold checks what servers do that are spoken to without TLS: some hang up, some answer
// with an alert, which is no HTTP. A server that has answered before has another reason.
func TestATLSServerIsTold(t *testing.T) {
	for name, answer := range map[string]string{"hangs up": "", "alerts": "\x15\x03\x03\x00\x02\x02\x50"} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					buffer := make([]byte, 1024)
					_, _ = conn.Read(buffer)
					_, _ = io.WriteString(conn, answer)
					conn.Close()
				}
			}()
			o := testOptions("127.0.0.1", listener.Addr().(*net.TCPAddr).Port)
			o.Advise = true
			c, err := New(o)
			require.NoError(t, err)
			defer c.Close()
			_, err = ask(t, c)
			require.ErrorContains(t, err, "; the server most likely speaks TLS: turn spec.connection.tls.enabled on")
			c.answered.Store(true)
			_, err = ask(t, c)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "spec.")
			o.Advise = false
			c, err = New(o)
			require.NoError(t, err)
			defer c.Close()
			_, err = ask(t, c)
			require.NotContains(t, err.Error(), "spec.", "nobody's DatabaseCluster")
		})
	}
}

// TestSameTroubleHasTheSameWords checks that a reason does not change from look to look: status would be
// written each time.
func TestSameTroubleHasTheSameWords(t *testing.T) {
	ours := authority.New(t, "ours")
	old, oldKey := ours.Issue(authority.Leaf{NotAfter: time.Now().Add(-time.Hour)})
	resets := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}))
	for name, c := range map[string]*Client{
		"expired": clientFor(t, secured(t, old, oldKey, nil), func(o *Options) { o.TLS = TLS{Enabled: true, CA: ours.CA} }),
		"reset":   clientFor(t, resets, nil),
	} {
		_, err := ask(t, c)
		require.Error(t, err)
		first := err.Error()
		require.NotContains(t, first, "->", name)
		time.Sleep(1100 * time.Millisecond)
		_, err = ask(t, c)
		require.EqualError(t, err, first, name)
	}
}

func TestAdviceOnCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, from string
		user       bool
		says       string
	}{
		"nobody":      {401, "", "", false, "the agent has no user and password: put them into a Secret and name it in spec.connection.credentialsSecret"},
		"wrong":       {401, "", "", true, "the user or the password in the Secret of spec.connection.credentialsSecret is wrong"},
		"where":       {401, "", "Secret prod/a", true, "the user or the password in Secret prod/a is wrong"},
		"forbidden":   {403, "security_exception|no permissions for [x]", "Secret prod/a", true, "the user in Secret prod/a lacks a permission"},
		"read only":   {403, "cluster_block_exception|read only", "", true, ""},
		"not allowed": {405, "", "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			_, err := ask(t, clientFor(t, server, func(o *Options) {
				o.Advise, o.CredentialsFrom = true, c.from
				if c.user {
					o.Credentials = testCredentials
				}
			}))
			s, ok := Status(err)
			require.True(t, ok)
			require.Equal(t, c.says, s.Likely)
			require.NotContains(t, err.Error(), testPassword)
			if c.says != "" {
				require.ErrorContains(t, err, "; "+c.says)
			}
		})
	}
}

func TestClientCertificates(t *testing.T) {
	a := authority.New(t, "ours")
	cert, key := a.Issue(authority.Leaf{Name: "agent"})
	_, other := a.Issue(authority.Leaf{Name: "other"})
	config, err := TLS{Enabled: true, Cert: cert, Key: credentials.NewSecret(key)}.Config()
	require.NoError(t, err)
	require.Len(t, config.Certificates, 1)
	for name, o := range map[string]TLS{
		"off":         {Cert: cert, Key: credentials.NewSecret(key)},
		"no key":      {Enabled: true, Cert: cert},
		"no cert":     {Enabled: true, Key: credentials.NewSecret(key)},
		"another key": {Enabled: true, Cert: cert, Key: credentials.NewSecret(other)},
		"no PEM":      {Enabled: true, Cert: cert, Key: credentials.NewSecret("hunter2")},
	} {
		_, err := o.Config()
		require.ErrorContains(t, err, "tls: ", name)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "PRIVATE")
	}
}
