package agents

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"
)

// rotating asks for the TLS configuration anew at every handshake, so that
// renewed certificates and authorities count without a restart.
type rotating struct {
	serverName string
	config     func() (*tls.Config, error)
	// slots bounds the handshakes of one cluster that are under way. A handshake takes a processor's time; were those of
	// all agents begun at once, none of thousands would end before its deadline, and all would be begun anew.
	slots chan struct{}
}

// handshakes of one cluster that are under way at most.
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
	// From here on, so that the wait for a turn is not counted.
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	config = config.Clone()
	config.ServerName = r.serverName
	config.MinVersion = tls.VersionTLS13
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

func (r rotating) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, fmt.Errorf("credentials of a client cannot serve")
}

func (r rotating) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (r rotating) Clone() credentials.TransportCredentials { return r }

func (r rotating) OverrideServerName(string) error {
	return fmt.Errorf("the server name of an agent is fixed")
}
