package listen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
)

// server answers like a database with this login; it keeps the passwords that it was shown.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	shown []string
}

func newServer(t *testing.T, login bool, change func(*httptest.Server)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, has := r.BasicAuth()
		if has {
			s.mu.Lock()
			s.shown = append(s.shown, password)
			s.mu.Unlock()
		}
		switch {
		case login && (user != "rollcall" || password != "right"):
			w.WriteHeader(http.StatusUnauthorized)
		case login:
			w.WriteHeader(http.StatusForbidden) // this user may not do that, and yet has logged in
		}
	}))
	if change == nil {
		s.Start()
	} else {
		change(s.Server)
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *server) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func (s *server) ask(t *testing.T, q Question) Heard {
	t.Helper()
	q.Path = "/"
	q.Dial = func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h, err := Ask(ctx, q)
	require.NoError(t, err)
	return h
}

func plainTLS(*httptest.Server) {}

// TestAsk checks what is heard from servers of each kind.
func TestAsk(t *testing.T) {
	h := newServer(t, false, nil).ask(t, Question{})
	require.Equal(t, Heard{TLS: security.Off, Login: security.Off, Client: security.Off}, h)

	h = newServer(t, true, nil).ask(t, Question{User: "rollcall", Password: "right"})
	require.Equal(t, Heard{TLS: security.Off, Login: security.On, Client: security.Off, LoggedIn: security.On}, h)

	s := newServer(t, true, plainTLS)
	h = s.ask(t, Question{CA: s.ca(), ServerName: "example.com", User: "rollcall", Password: "right"})
	require.Equal(t, Heard{TLS: security.On, Login: security.On, Client: security.Off, Certificate: s.Certificate(), LoggedIn: security.On}, h)
	h = s.ask(t, Question{CA: s.ca(), ServerName: "example.com", User: "rollcall", Password: "wrong"})
	require.Equal(t, security.Off, h.LoggedIn)
}

// TestAskAboutCertificates checks that a certificate is judged as agents judge it, and that no
// password is shown to a server whose certificate is wrong, or not judged.
func TestAskAboutCertificates(t *testing.T) {
	s := newServer(t, true, plainTLS)
	h := s.ask(t, Question{CA: s.ca(), ServerName: "localhost", User: "rollcall", Password: "right"})
	var name x509.HostnameError
	require.ErrorAs(t, h.Distrust, &name)
	require.Equal(t, security.On, h.Login)
	other := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("none")})
	h = s.ask(t, Question{CA: other, ServerName: "example.com", User: "rollcall", Password: "right"})
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, h.Distrust, &unknown)
	h = s.ask(t, Question{ServerName: "example.com", User: "rollcall", Password: "right"})
	require.NoError(t, h.Distrust)
	require.Equal(t, security.Untold, h.LoggedIn)
	require.Empty(t, s.shown)
}

// TestAskAboutClientCertificates checks both versions of TLS: by the older one the handshake fails, and
// by the newer one the first request.
func TestAskAboutClientCertificates(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s := newServer(t, false, func(s *httptest.Server) {
			s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: version}
		})
		require.Equal(t, security.On, s.ask(t, Question{}).Client)
		require.Equal(t, security.Off, s.ask(t, Question{Client: &s.TLS.Certificates[0]}).Client, "the one that agents show will do")
		may := newServer(t, false, func(s *httptest.Server) {
			s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MaxVersion: version}
		})
		require.Equal(t, security.Off, may.ask(t, Question{}).Client)
	}
}

// TestAskWhoDoesNotAnswer checks that a server that speaks something else, ends connections or says
// nothing is not taken for one without TLS.
func TestAskWhoDoesNotAnswer(t *testing.T) {
	for name, does := range map[string]func(net.Conn){
		"ends": func(c net.Conn) { _ = c.Close() },
		"babbles": func(c net.Conn) {
			_, _ = c.Write([]byte("J\x00\x00\x00\n9.4.0 not HTTP"))
			_ = c.Close()
		},
		"is silent": func(net.Conn) {},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := Ask(ctx, Question{Path: "/", Dial: func(context.Context) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				buf := make([]byte, 4096)
				_, _ = there.Read(buf)
				does(there)
			}()
			return here, nil
		}})
		cancel()
		require.Error(t, err, name)
	}
}
