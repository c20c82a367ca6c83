package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/credentials"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/trust"
)

// Keeper holds the certificates of one running coordinator. Its own client's and server's
// certificates live in memory only; every replica issues its own.
//
// The TLS configurations that it hands out stay right for as long as Run runs: each handshake uses
// the certificates and the authorities of that moment. Accepted connections are checked again: see
// Callers.
type Keeper struct {
	keeping

	// Callers are the connections of clients that have shown a certificate. Run closes them when
	// the current authorities no longer accept it.
	Callers trust.Connections
}

// Profiles of a Keeper.
const (
	profileClient = iota
	profileServer
)

// NewKeeper returns a Keeper without certificates: call Ensure before the first handshake.
func NewKeeper(client kubernetes.Interface, opts Options) (*Keeper, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	k := &Keeper{keeping: newKeeping(client, opts, SecretAuthority,
		ClientProfile(config.RoleCoordinator), CoordinatorProfile(opts.Namespace, opts.Service))}
	k.then = k.followed
	return k, nil
}

// followed ends connections that the authority does not accept, and keeps the Secrets for people
// current.
func (k *Keeper) followed(ctx context.Context, authority Authority) error {
	k.Callers.Sweep(k.now(), k.Refuses)
	return errors.Join(k.store.Reader(ctx, authority, k.now()), k.store.Trust(ctx, authority))
}

// Refuses says why the certificates that a caller has shown are not accepted now.
func (k *Keeper) Refuses(shown []*x509.Certificate) error {
	_, pool, err := k.current(profileServer)
	if err != nil {
		return err
	}
	return trust.Verify(shown, pool, x509.ExtKeyUsageClientAuth, k.now())
}

// GateCredentials are GateTLS for gRPC.
func (k *Keeper) GateCredentials() credentials.TransportCredentials {
	return k.Callers.Credentials(credentials.NewTLS(k.GateTLS()))
}

// AgentTLS is for dialling the agents of one database cluster with the
// coordinator's role.
func (k *Keeper) AgentTLS(namespace, cluster string) *tls.Config {
	return k.clientTLS(config.ServerName(namespace, cluster))
}

func (k *Keeper) clientTLS(serverName string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ServerName: serverName,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			client, _, err := k.current(profileClient)
			if err != nil {
				return nil, err
			}
			cert := client.TLS()
			return &cert, nil
		},
		// A configuration's RootCAs cannot change once it is in use, and the
		// authorities do: so the library's own check is replaced by the same
		// check against those of the moment.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			_, pool, err := k.current(profileClient)
			if err != nil {
				return err
			}
			return verifyServer(state, pool, serverName, k.now())
		},
	}
}

func verifyServer(state tls.ConnectionState, pool *x509.CertPool, serverName string, now time.Time) error {
	if len(state.PeerCertificates) != 1 {
		return errors.New("the server sent no certificate, or several")
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		DNSName:     serverName,
		Roots:       pool,
		CurrentTime: now,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("the server is not %s: %w", serverName, err)
	}
	return nil
}

// ServerTLS is for services that require a certificate: clients must show one with the role of a
// coordinator or reader.
func (k *Keeper) ServerTLS() *tls.Config {
	return k.serverTLS(tls.RequireAndVerifyClientCert)
}

// GateTLS is for a server with a gate behind it (package people): a client may show no certificate,
// and must then send a token. A certificate is refused unless ServerTLS accepts it.
func (k *Keeper) GateTLS() *tls.Config {
	return k.serverTLS(tls.VerifyClientCertIfGiven)
}

func (k *Keeper) serverTLS(asked tls.ClientAuthType) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			server, pool, err := k.current(profileServer)
			if err != nil {
				return nil, err
			}
			conf := serving(server)
			conf.ClientAuth, conf.ClientCAs, conf.Time = tls.RequireAnyClientCert, pool, k.now
			if asked == tls.VerifyClientCertIfGiven {
				conf.ClientAuth = tls.RequestClientCert
			}
			role := requireRole(config.RoleCoordinator, config.RoleReader)
			conf.VerifyConnection = func(state tls.ConnectionState) error {
				if asked == tls.VerifyClientCertIfGiven && len(state.PeerCertificates) == 0 {
					return nil
				}
				// The library would try everything that is shown together with it.
				if err := trust.Verify(state.PeerCertificates, pool, x509.ExtKeyUsageClientAuth, k.now()); err != nil {
					return err
				}
				return role(state)
			}
			return conf, nil
		},
	}
}

// serving is for one handshake.
func serving(server Pair) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{server.TLS()},
		NextProtos:   []string{"h2", "http/1.1"},
	}
}

// requireRole refuses clients whose certificate carries none of the roles.
func requireRole(roles ...string) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 {
			role, _ := Role(state.PeerCertificates[0])
			if slices.Contains(roles, role) {
				return nil
			}
		}
		return fmt.Errorf("the client's certificate carries none of the roles %q", roles)
	}
}
