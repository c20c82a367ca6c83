// Package listen asks a server that speaks HTTP how it wants to be spoken to: by TLS or not, with a
// login or not, and whether what agents would show and expect is right. Nothing is changed there.
package listen

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
)

// Question is what is asked of one server.
type Question struct {
	// Dial connects to the server.
	Dial func(context.Context) (net.Conn, error)
	// Path is asked for: one that says nothing without a login where the server wants one.
	Path string
	// CA is a PEM bundle of authorities, and ServerName the name that the certificate must have.
	// Without CA the certificate is not judged.
	CA         []byte
	ServerName string
	// Client is the certificate that agents will show; nil means none.
	Client *tls.Certificate
	// User and Password are tried where nobody else can read them on the way: inside TLS only when
	// the certificate is right. An empty user is not tried.
	User, Password string
}

// Heard is what a server says.
type Heard struct {
	TLS, Login, Client security.State
	// Certificate is the server's; nil without TLS.
	Certificate *x509.Certificate
	// Distrust says why agents would not accept the certificate; nil means that they would, or that
	// it was not judged.
	Distrust error
	// LoggedIn is Off if the user and the password were refused.
	LoggedIn security.State
}

// maxBody bounds what is read of an answer, in bytes.
const maxBody = 1 << 20

// Ask asks one server. An error means that it could not be told even whether it speaks TLS.
func Ask(ctx context.Context, q Question) (Heard, error) {
	h, err := q.handshake(ctx)
	if err != nil {
		return Heard{}, err
	}
	status, err := q.get(ctx, &h, "", "")
	switch {
	case err == nil:
		h.Login = login(status)
		h.Client = security.Off
	case h.TLS == security.On:
		return h, nil // it may say nothing to those who show no certificate
	default:
		return Heard{}, err
	}
	if q.User == "" || h.Login != security.On || h.TLS == security.On && (len(q.CA) == 0 || h.Distrust != nil) {
		return h, nil
	}
	if status, err = q.get(ctx, &h, q.User, q.Password); err == nil {
		h.LoggedIn = map[bool]security.State{true: security.Off, false: security.On}[status == http.StatusUnauthorized]
	}
	return h, nil
}

func login(status int) security.State {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return security.On
	case status < http.StatusBadRequest:
		return security.Off
	}
	return security.Untold // such as a server that is not ready yet
}

// handshake tries TLS, and looks at the certificate. A server without TLS answers something else, or
// ends the connection: then only an answer by HTTP says that it has none.
func (q Question) handshake(ctx context.Context) (h Heard, err error) {
	raw, err := q.Dial(ctx)
	if err != nil {
		return h, err
	}
	defer raw.Close()
	asked := false
	conn := tls.Client(raw, q.looking(&asked))
	err = conn.HandshakeContext(ctx)
	var other tls.RecordHeaderError
	switch {
	case err == nil:
		h.TLS = security.On
		h.Certificate, h.Distrust = q.judge(conn.ConnectionState().PeerCertificates)
		return h, nil
	case errors.As(err, &other):
		h.TLS = security.Off
		return h, nil
	case asked && q.Client == nil:
		h.TLS, h.Client = security.On, security.On
		return h, nil
	case ctx.Err() != nil:
		return h, fmt.Errorf("it answers no handshake: %w", ctx.Err())
	}
	h.TLS = security.Off // which the request must confirm
	return h, nil
}

// looking accepts any certificate, because the certificate is what is to be looked at. asked becomes
// true if the server wants one of the client.
func (q Question) looking(asked *bool) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         q.ServerName,
		InsecureSkipVerify: true, //nolint:gosec // judge verifies it, and get before it sends a password
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			*asked = true
			if q.Client != nil {
				return q.Client, nil
			}
			return &tls.Certificate{}, nil
		},
	}
}

// judge verifies the certificate as agents do.
func (q Question) judge(chain []*x509.Certificate) (*x509.Certificate, error) {
	if len(chain) == 0 {
		return nil, errors.New("the server shows no certificate")
	}
	if len(q.CA) == 0 {
		return chain[0], nil
	}
	o := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), DNSName: q.ServerName}
	o.Roots.AppendCertsFromPEM(q.CA)
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	return chain[0], err
}

// get asks for the path, and returns the status.
func (q Question) get(ctx context.Context, h *Heard, user, password string) (int, error) {
	scheme, asked := "http", false
	var broken brokenConn
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := q.Dial(ctx)
			broken.Conn = conn
			return &broken, err
		},
	}
	if h.TLS == security.On {
		scheme = "https"
		transport.TLSClientConfig = q.looking(&asked)
		if user != "" {
			transport.TLSClientConfig.VerifyConnection = func(s tls.ConnectionState) error {
				_, err := q.judge(s.PeerCertificates)
				return err
			}
		}
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://localhost"+q.Path, http.NoBody)
	if err != nil {
		return 0, err
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		if asked && q.Client == nil {
			h.Client = security.On // it ends connections of those who show none
		}
		return 0, cmp.Or(broken.err(), err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody))
	return answer.StatusCode, nil
}
