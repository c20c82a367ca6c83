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

// keys are the certificate and the authorities of now. A connection is judged when it is made,
// each call on it again, and the connection whenever the keys are looked at.
type Keys struct {
	current atomic.Pointer[tls.Config] // for serving
	asking  atomic.Pointer[tls.Config] // for asking other agents

	Callers Connections
	asked   Connections
}

// set takes new ones; name is that of the agents, which is verified when another
// one is asked.
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
		ClientAuth:   tls.RequireAnyClientCert, // the library would try whatever is shown beside it
		ClientCAs:    authorities,              // the names of which are told
		VerifyConnection: func(state tls.ConnectionState) error {
			return Verify(state.PeerCertificates, authorities, x509.ExtKeyUsageClientAuth, time.Now())
		},
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true, // a resumed session would outlive its authority
	})
}

// sweep closes the connections of those for whom the authorities of now do not vouch any more, or
// whose certificates have ended.
func (k *Keys) Sweep() int {
	now := time.Now()
	asked := k.asked.Sweep(now, func(shown []*x509.Certificate) error {
		return Verify(shown, k.asking.Load().RootCAs, x509.ExtKeyUsageServerAuth, now)
	})
	return asked + k.Callers.Sweep(now, k.Refuses)
}

// refuses says why a caller with these certificates is not one of now.
func (k *Keys) Refuses(shown []*x509.Certificate) error {
	c := k.current.Load()
	if c == nil {
		return errors.New("no certificate yet")
	}
	return Verify(shown, c.ClientCAs, x509.ExtKeyUsageClientAuth, time.Now())
}

func (k *Keys) Loaded() bool { return k.current.Load() != nil }

// server answers credentials that follow every change of the keys.
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

// client answers credentials that follow every change of the keys, for asking
// other agents of this database cluster.
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
