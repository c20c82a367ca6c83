package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/trust"
)

// Options configure a Keeper.
type Options struct {
	// Namespace of the installation.
	Namespace string
	// Service is the name of the coordinators' Service.
	Service string
	// ClusterDomain of cluster DNS. Default: cluster.local.
	ClusterDomain string
	// Interval between looks at the stored authority: what a person asked for is
	// begun within one, and all coordinators know it within another. Default: 1 minute.
	Interval time.Duration
	// Logger. Default: slog.Default.
	Logger *slog.Logger
	// Registerer of metrics. Default: none.
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() (Options, error) {
	if o.Namespace == "" || o.Service == "" {
		return o, errors.New("pki: the namespace and the service of the installation are needed")
	}
	if o.ClusterDomain == "" {
		o.ClusterDomain = "cluster.local"
	}
	if o.Interval <= 0 {
		o.Interval = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}

// Keeper holds the certificates of one running coordinator. Its own client's
// and server's certificates live in memory only; every replica issues its own.
//
// The TLS configurations that it hands out stay right for as long as Run runs:
// each handshake uses the certificates and the authorities of that moment. What they let in
// is judged again: see Callers.
type Keeper struct {
	opts  Options
	store *Store
	now   func() time.Time

	// Callers are the connections of those who have shown a certificate. Run closes them
	// when the authorities of now do not vouch for it any more.
	Callers trust.Connections

	mu        sync.RWMutex
	authority Authority
	pool      *x509.CertPool
	client    Pair
	server    Pair
	changed   chan struct{}
}

// NewKeeper makes a Keeper that has nothing yet: call Ensure before the first
// handshake.
func NewKeeper(client kubernetes.Interface, opts Options) (*Keeper, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		opts:    opts,
		store:   NewStore(client, opts.Namespace),
		now:     time.Now,
		changed: make(chan struct{}),
	}
	if opts.Registerer != nil {
		opts.Registerer.MustRegister(newExpiry(k))
	}
	return k, nil
}

// Ensure reads or makes the authority, renews what is due, and keeps the
// Secrets for people current.
func (k *Keeper) Ensure(ctx context.Context) error {
	authority, err := k.store.Advance(ctx, k.now())
	if err != nil {
		return err
	}
	if err := k.adopt(authority); err != nil {
		return err
	}
	k.Callers.Sweep(k.now(), k.Refuses)
	return errors.Join(k.store.Reader(ctx, authority, k.now()), k.store.Trust(ctx, authority))
}

// Refuses says why a caller who has shown these certificates is not one of now.
func (k *Keeper) Refuses(shown []*x509.Certificate) error {
	_, _, pool, err := k.current()
	if err != nil {
		return err
	}
	return trust.Verify(shown, pool, x509.ExtKeyUsageClientAuth, k.now())
}

// GateCredentials are GateTLS for gRPC.
func (k *Keeper) GateCredentials() credentials.TransportCredentials {
	return k.Callers.Credentials(credentials.NewTLS(k.GateTLS()))
}

// adopt takes over an authority and issues what is due under it.
func (k *Keeper) adopt(authority Authority) error {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	news := k.authority.IsZero() || string(k.authority.Bundle()) != string(authority.Bundle())
	k.authority = authority
	k.pool = authority.Pool()
	for _, own := range []struct {
		pair    *Pair
		profile Profile
	}{
		{&k.client, ClientProfile(config.RoleCoordinator)},
		{&k.server, CoordinatorProfile(k.opts.Namespace, k.opts.Service, k.opts.ClusterDomain)},
	} {
		if !authority.Due(*own.pair, own.profile, now) {
			continue
		}
		pair, err := authority.Issue(own.profile, now)
		if err != nil {
			return err
		}
		*own.pair = pair
	}
	if news {
		close(k.changed)
		k.changed = make(chan struct{})
	}
	return nil
}

// Run keeps everything current until ctx ends. Failures are logged and tried
// again; what there is stays in use meanwhile.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(k.opts.Interval)
	defer ticker.Stop()
	for {
		changed := k.Changed()
		if err := k.Ensure(ctx); err != nil && ctx.Err() == nil {
			k.opts.Logger.Error("certificates could not be renewed", "err", err)
		}
		select {
		case <-changed:
			k.opts.Logger.Info("the trusted authorities have changed", "rotation", k.Authority().Rotation())
		default:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Authority is the one in use; zero before the first Ensure.
func (k *Keeper) Authority() Authority {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.authority
}

// Changed is closed when the bundle of authorities changes after this call.
func (k *Keeper) Changed() <-chan struct{} {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.changed
}

func (k *Keeper) current() (client, server Pair, pool *x509.CertPool, err error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.authority.IsZero() {
		return Pair{}, Pair{}, nil, errors.New("there is no certificate authority yet")
	}
	return k.client, k.server, k.pool, nil
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
			client, _, _, err := k.current()
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
			_, _, pool, err := k.current()
			if err != nil {
				return err
			}
			return verifyServer(state, pool, serverName, k.now())
		},
	}
}

func verifyServer(state tls.ConnectionState, pool *x509.CertPool, serverName string, now time.Time) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server sent no certificate")
	}
	intermediates := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		DNSName:       serverName,
		Roots:         pool,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("the server is not %s: %w", serverName, err)
	}
	return nil
}

// ServerTLS is for what is served to certificates alone: clients must show one
// with the role of a coordinator or reader.
func (k *Keeper) ServerTLS() *tls.Config {
	return k.serverTLS(tls.RequireAndVerifyClientCert)
}

// GateTLS is for a server with a gate behind it (package people): a client may
// show no certificate, and is then to be asked for a token. One that shows a
// certificate is refused unless it is one that ServerTLS takes.
func (k *Keeper) GateTLS() *tls.Config {
	return k.serverTLS(tls.VerifyClientCertIfGiven)
}

// WebhookTLS is for the webhook: the API server shows no certificate.
func (k *Keeper) WebhookTLS() *tls.Config {
	return k.serverTLS(tls.NoClientCert)
}

func (k *Keeper) serverTLS(asked tls.ClientAuthType) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			_, server, pool, err := k.current()
			if err != nil {
				return nil, err
			}
			conf := &tls.Config{
				MinVersion:   tls.VersionTLS13,
				Certificates: []tls.Certificate{server.TLS()},
				NextProtos:   []string{"h2", "http/1.1"},
			}
			if asked == tls.NoClientCert {
				return conf, nil
			}
			conf.ClientAuth, conf.ClientCAs, conf.Time = asked, pool, k.now
			role := requireRole(config.RoleCoordinator, config.RoleReader)
			conf.VerifyConnection = func(state tls.ConnectionState) error {
				if asked == tls.VerifyClientCertIfGiven && len(state.PeerCertificates) == 0 {
					return nil
				}
				return role(state)
			}
			return conf, nil
		},
	}
}

// requireRole refuses clients whose certificate carries none of the roles.
func requireRole(roles ...string) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 {
			role, _ := Role(state.PeerCertificates[0])
			for _, want := range roles {
				if role == want {
					return nil
				}
			}
		}
		return fmt.Errorf("the client's certificate carries none of the roles %q", roles)
	}
}
