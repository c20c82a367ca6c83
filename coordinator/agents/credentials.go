package agents

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/rollcall-dev/rollcall/agent/trust"
)

// rotating gets the TLS configuration at every handshake, so that renewed certificates and
// authorities count without a restart.
type rotating struct {
	serverName string
	config     func() (*tls.Config, error)
	// slots bounds the handshakes of one cluster that are under way. A handshake takes processor
	// time. If thousands of agents began at once, none would end before its deadline, and all would
	// begin again.
	slots chan struct{}
}

// handshakes is the maximum number of concurrent handshakes of one cluster.
const handshakes = 4

var _ credentials.TransportCredentials = rotating{}

func (r rotating) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("handshake: too many others of this cluster are under way: %w", ctx.Err())
	}
	config, err := r.config()
	if err != nil {
		return nil, nil, fmt.Errorf("tls configuration for agents: %w", err)
	}
	// The deadline starts here, so that the wait for a turn does not count.
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	config = config.Clone()
	config.ServerName = r.serverName
	config.MinVersion = tls.VersionTLS13
	// The library would try everything that is shown together with the certificate, a hundred
	// signatures each time.
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := trust.Verify(state.PeerCertificates, config.RootCAs, x509.ExtKeyUsageServerAuth, time.Now()); err != nil {
			return err
		}
		return state.PeerCertificates[0].VerifyHostname(r.serverName)
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

func (r rotating) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a client cannot serve")
}

func (r rotating) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (r rotating) Clone() credentials.TransportCredentials { return r }

func (r rotating) OverrideServerName(string) error {
	return errors.New("the server name of an agent is fixed")
}

// Recheck closes the connections to agents whose certificates the current authorities do not
// accept. They are opened again when they are needed.
func (a *Agents) Recheck() {
	if a.opts.TLS == nil {
		return // plaintext, or no network at all
	}
	config, err := a.opts.TLS()
	if err != nil {
		return // without certificates there are no connections
	}
	now := time.Now()
	ended := a.connections.Sweep(now, func(shown []*x509.Certificate) error {
		return trust.Verify(shown, config.RootCAs, x509.ExtKeyUsageServerAuth, now)
	})
	if ended > 0 {
		a.opts.Logger.Info("connections to agents ended, as their certificates do not count any more", "connections", ended)
	}
}
