package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/trust"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// keys are the certificate and the authorities of now. A connection is judged when it is made,
// each call on it again, and the connection whenever the keys are looked at.
type keys struct {
	current atomic.Pointer[tls.Config] // for serving
	asking  atomic.Pointer[tls.Config] // for asking other agents

	callers trust.Connections
	asked   trust.Connections
}

// set takes new ones; name is that of the agents, which is verified when another
// one is asked.
func (k *keys) set(certificate *tls.Certificate, authorities *x509.CertPool, name string) {
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
			return trust.Verify(state.PeerCertificates, authorities, x509.ExtKeyUsageClientAuth, time.Now())
		},
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true, // a resumed session would outlive its authority
	})
}

// sweep closes the connections of those for whom the authorities of now do not vouch any more, or
// whose certificates have ended.
func (k *keys) sweep() int {
	now := time.Now()
	asked := k.asked.Sweep(now, func(shown []*x509.Certificate) error {
		return trust.Verify(shown, k.asking.Load().RootCAs, x509.ExtKeyUsageServerAuth, now)
	})
	return asked + k.callers.Sweep(now, k.refuses)
}

// refuses says why a caller with these certificates is not one of now.
func (k *keys) refuses(shown []*x509.Certificate) error {
	c := k.current.Load()
	if c == nil {
		return errors.New("no certificate yet")
	}
	return trust.Verify(shown, c.ClientCAs, x509.ExtKeyUsageClientAuth, time.Now())
}

func (k *keys) loaded() bool { return k.current.Load() != nil }

// server answers credentials that follow every change of the keys.
func (k *keys) server() credentials.TransportCredentials {
	return k.callers.Credentials(credentials.NewTLS(&tls.Config{
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
func (k *keys) client() credentials.TransportCredentials {
	return k.asked.Credentials(following{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13}), k})
}

// following makes each handshake with the keys of that moment.
type following struct {
	credentials.TransportCredentials // for what is the same with all keys
	keys                             *keys
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

// neededRoles are those of which one is needed to call a method. Everything else
// that is served, health and reflection too, is for reading. Agents are asked for
// steps by each other only, and by a coordinator only for what it can undo.
var neededRoles = map[string][]string{
	rollcallv1.AgentService_Prepare_FullMethodName: {config.RoleCoordinator},
	rollcallv1.AgentService_Restore_FullMethodName: {config.RoleCoordinator},
	rollcallv1.AgentService_Relieve_FullMethodName: {config.RoleCoordinator},
	rollcallv1.PeerService_Look_FullMethodName:     {config.RoleCoordinator, config.RoleReader, config.RoleAgent},
	rollcallv1.PeerService_Step_FullMethodName:     {config.RoleAgent},
}

var readingRoles = []string{config.RoleCoordinator, config.RoleReader}

// access decides who may call what. name is that of this database cluster's
// agents, config.ServerName.
type access struct {
	name    string
	keys    *keys
	callers *callers
}

func (a access) authorize(ctx context.Context, method string) error {
	roles := a.rolesOf(ctx)
	needed, ok := neededRoles[method]
	if !ok {
		needed = readingRoles
	}
	for _, role := range needed {
		if slices.Contains(roles, role) {
			return nil
		}
	}
	err := refusal(codes.PermissionDenied, ReasonRole, map[string]string{"needed": strings.Join(needed, ",")},
		"%s needs a client certificate with the URI name %s%s", method, config.RolePrefix, strings.Join(needed, " or "))
	var from net.Addr
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr
	}
	a.callers.refuse(callerRole, from, err)
	return err
}

// rolesOf reads the roles of a client certificate for which the authorities of now vouch. One authority signs
// for the agents of all database clusters: another's agent has no role here.
func (a access) rolesOf(ctx context.Context) []string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	return a.rolesShown(p.AuthInfo)
}

func (a access) rolesShown(info credentials.AuthInfo) []string {
	if reader, ok := info.(readerInfo); ok {
		info = reader.TLSInfo
	}
	shown := trust.Shown(info)
	if a.keys.refuses(shown) != nil {
		return nil
	}
	leaf := shown[0]
	var roles []string
	for _, uri := range leaf.URIs {
		role, ok := strings.CutPrefix(uri.String(), config.RolePrefix)
		if ok && (role != config.RoleAgent || slices.Contains(leaf.DNSNames, a.name)) {
			roles = append(roles, role)
		}
	}
	return roles
}

// onlyReads tells whether who has these roles may neither order nor take part.
func onlyReads(roles []string) bool {
	return !slices.ContainsFunc(roles, func(role string) bool { return role != config.RoleReader })
}

func (a access) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := a.authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	// Each of these takes a session of the database, of which a handover needs one.
	if look, ok := request.(*rollcallv1.LookRequest); ok && look.GetFresh() && onlyReads(a.rolesOf(ctx)) {
		return nil, refusal(codes.PermissionDenied, ReasonRole, map[string]string{"needed": config.RoleAgent},
			"a fresh look needs a client certificate with the URI name %s%s; readers ask without fresh", config.RolePrefix, config.RoleAgent)
	}
	return handler(ctx, request)
}

func (a access) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := a.authorize(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(server, stream)
}
