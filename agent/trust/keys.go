package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// Keys are the current certificate and authorities. A connection is checked when it
// is made, each call on it again, and the connection whenever the keys are polled.
type Keys struct {
	current atomic.Pointer[tls.Config] // for serving
	asking  atomic.Pointer[tls.Config] // for calling other agents

	Callers Connections
	asked   Connections
}

// Set replaces them. name is that of the agents, which is verified when another one
// is called.
func (k *Keys) Set(certificate *tls.Certificate, authorities *x509.CertPool, name string) {
	k.asking.Store(&tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{*certificate},
		RootCAs:      authorities,
		ServerName:   name,
	})
	k.current.Store(&tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{*certificate},
		ClientAuth:   tls.RequireAnyClientCert, // the library would try every certificate that a caller shows
		ClientCAs:    authorities,              // their names are sent to clients
		VerifyConnection: func(state tls.ConnectionState) error {
			return Verify(state.PeerCertificates, authorities, x509.ExtKeyUsageClientAuth, time.Now())
		},
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true, // a resumed session would outlive its authority
	})
}

// Sweep closes the connections of peers whose certificates have expired, or are not
// signed by the current authorities.
func (k *Keys) Sweep() int {
	now := time.Now()
	asked := k.asked.Sweep(now, func(shown []*x509.Certificate) error {
		return Verify(shown, k.asking.Load().RootCAs, x509.ExtKeyUsageServerAuth, now)
	})
	return asked + k.Callers.Sweep(now, k.Refuses)
}

// Refuses says why a caller with these certificates is not accepted now.
func (k *Keys) Refuses(shown []*x509.Certificate) error {
	c := k.current.Load()
	if c == nil {
		return errors.New("no certificate yet")
	}
	return Verify(shown, c.ClientCAs, x509.ExtKeyUsageClientAuth, time.Now())
}

func (k *Keys) Loaded() bool { return k.current.Load() != nil }

// Server returns credentials that follow every change of the keys.
func (k *Keys) Server() credentials.TransportCredentials {
	return k.Callers.Credentials(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if c := k.current.Load(); c != nil {
				return c, nil
			}
			return nil, errors.New("no certificate yet")
		},
	}))
}

// Client returns credentials that follow every change of the keys, for calling other
// agents of this database cluster.
func (k *Keys) Client() credentials.TransportCredentials {
	return k.asked.Credentials(following{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13}), k})
}

// following makes each handshake with the keys of that moment.
type following struct {
	credentials.TransportCredentials // for what is the same with all keys
	keys                             *Keys
}

// ClientHandshake verifies the agents' name, wherever they were found.
func (f following) ClientHandshake(ctx context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c := f.keys.asking.Load()
	if c == nil {
		return nil, nil, errors.New("no certificate yet")
	}
	return credentials.NewTLS(c).ClientHandshake(ctx, c.ServerName, conn)
}

func (f following) Clone() credentials.TransportCredentials {
	return following{f.TransportCredentials.Clone(), f.keys}
}
