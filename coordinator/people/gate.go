package people

import (
	"context"
	"crypto/x509"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/counters"
	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/trust"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Questions to the API server about people who are known: on average this many a second, and at once.
const (
	perSecond = 20
	atOnce    = 100
)

// Header is the name of the metadata that say who calls: "Request " and a proof, or "Bearer " and a token.
const Header = "authorization"

// Gate decides who may call which methods.
type Gate struct {
	client kubernetes.Interface
	// refuses says why certificates that the handshake accepted do not count any more.
	refuses func(shown []*x509.Certificate) error
	limit   flowcontrol.PassiveRateLimiter
	now     func() time.Time
	known   cache[digest, *person]
	// vouched are tokens that the API server has accepted lately.
	vouched   cache[digest, bool]
	persons   persons
	strangers strangers
	forwarded forwarded
	attested  attested
	rights    cache[right, bool]
	refused   *prometheus.CounterVec
	// Lately records for people who was refused. Default: nothing does.
	Lately *door.Refusals
}

// NewGate returns a Gate that asks the API server with this client, and uses refuses for
// certificates, such as (*pki.Keeper).Refuses. The gate limits itself; the client does not have to.
func NewGate(client kubernetes.Interface, refuses func(shown []*x509.Certificate) error) *Gate {
	g := &Gate{client: client, refuses: refuses, limit: flowcontrol.NewTokenBucketPassiveRateLimiter(perSecond, atOnce), now: time.Now,
		attested: attested{reading: make(chan struct{}, readAtOnce), kept: rate.Sometimes{Interval: time.Minute}},
		refused:  newRefused()}
	g.known, g.vouched, g.rights = newCache[digest, *person](g), newCache[digest, bool](g), newCache[right, bool](g)
	g.attested.known, g.attested.refused = newCache[digest, *person](g), newCache[digest, error](g)
	return g
}

// Now implements the clock of the caches.
func (g *Gate) Now() time.Time { return g.now() }

// Reasons for refusing a token, or a request in its place, for the counter.
const (
	reasonUnknown = "unknown" // nobody's
	reasonLimit   = "limit"   // more are shown than are asked about
)

func newRefused() *prometheus.CounterVec {
	return counters.New(nil, prometheus.CounterOpts{
		Name: "rollcall_tokens_refused_total",
		Help: "Tokens, and requests in place of one, that were shown to the coordinator and not taken.",
	}, []string{"reason"}, []string{reasonUnknown, reasonLimit})
}

// Metrics counts what the gate refuses.
func (g *Gate) Metrics() prometheus.Collector { return g.refused }

// ServerOptions returns the options that put the gate before all methods of a server whose TLS is
// pki.Keeper.GateTLS.
func (g *Gate) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(g.unary), grpc.ChainStreamInterceptor(g.stream)}
}

func (g *Gate) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	c, err := g.enter(ctx, info.FullMethod)
	if err == nil {
		err = c.ask(ctx, request)
	}
	if err != nil {
		g.note(err)
		return nil, err
	}
	answer, err := handler(ctx, request)
	if err != nil {
		return nil, err
	}
	if list, ok := request.(*rollcallv1.ListClustersRequest); ok && list.GetNamespace() == "" {
		return c.reduce(ctx, answer)
	}
	return answer, nil
}

func (g *Gate) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	c, err := g.enter(stream.Context(), info.FullMethod)
	if err != nil {
		g.note(err)
		return err
	}
	if c.certified {
		return handler(server, stream)
	}
	return handler(server, &guarded{ServerStream: stream, caller: c})
}

// guarded checks a person with each message: a watch outlives neither a permission nor the token by
// more than the cache does.
type guarded struct {
	grpc.ServerStream
	caller caller

	mu      sync.Mutex
	request any
}

func (s *guarded) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	s.mu.Lock()
	s.request = m
	s.mu.Unlock()
	err := s.caller.ask(s.Context(), m)
	s.caller.gate.note(err)
	return err
}

func (s *guarded) SendMsg(m any) error {
	s.mu.Lock()
	request := s.request
	s.mu.Unlock()
	if err := s.caller.ask(s.Context(), request); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// note records who was refused for their credentials, not for their requests: that somebody may not
// see a namespace does not have to be investigated.
func (g *Gate) note(err error) {
	switch grpcstatus.Code(err) {
	case codes.Unauthenticated:
		g.Lately.Note("token: unknown", "")
	case codes.ResourceExhausted:
		g.Lately.Note("token: too many", "")
	}
}

// caller is the caller of a method.
type caller struct {
	gate      *Gate
	method    string
	audience  Audience
	certified bool
	shown     credential
}

// credential is how a person proves who they are.
type credential interface {
	// identify returns whose it is, and its key in caches.
	identify(ctx context.Context, g *Gate) (digest, *person, error)
}

// enter finds out how a caller proves who they are.
func (g *Gate) enter(ctx context.Context, method string) (caller, error) {
	c := caller{gate: g, method: method, audience: audiences[method]}
	if c.audience == Nobody {
		return c, grpcstatus.Errorf(codes.PermissionDenied, "%s is not open to anybody at the coordinator", method)
	}
	if c.certified = g.certified(ctx); c.certified {
		return c, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	var scheme, value string
	if values := md.Get(Header); len(values) == 1 {
		scheme, value, _ = strings.Cut(values[0], " ")
		value = strings.TrimSpace(value)
	}
	proves := strings.EqualFold(scheme, requestScheme)
	switch {
	case value == "" || !proves && !strings.EqualFold(scheme, "Bearer"):
		return c, grpcstatus.Error(codes.Unauthenticated, "neither a client certificate, nor a proof by a CertificateSigningRequest, nor a token was shown: "+
			"use `rollcall`, or send the metadata \"authorization: Bearer TOKEN\" with one made for audience "+TokenAudience)
	case c.audience == Certificates:
		return c, grpcstatus.Errorf(codes.PermissionDenied, "%s needs a client certificate with the URI name %s%s or %s: nothing else does",
			method, config.RolePrefix, config.RoleReader, config.RoleCoordinator)
	case !proves:
		c.shown = bearer(value)
		return c, nil
	}
	shown, err := readProof(ctx, value)
	if err != nil {
		return c, err
	}
	c.shown = shown
	return c, nil
}

// certified reports whether the caller has shown a certificate with a role that may read, and that
// the current authorities accept.
func (g *Gate) certified(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	shown := trust.Shown(p.AuthInfo)
	if g.refuses(shown) != nil {
		return false
	}
	role, _ := pki.Role(shown[0])
	return role == config.RoleCoordinator || role == config.RoleReader
}

// ask returns nil if the caller may have the request answered.
func (c caller) ask(ctx context.Context, request any) error {
	if c.certified {
		return nil
	}
	about, ok := request.(interface{ GetNamespace() string })
	if !ok {
		return grpcstatus.Errorf(codes.PermissionDenied, "%s does not say which namespace it is about", c.method)
	}
	namespace := about.GetNamespace()
	if namespace == "" && c.audience != Lister {
		return grpcstatus.Error(codes.InvalidArgument, "namespace is empty: must be that of a DatabaseCluster")
	}
	key, who, err := c.shown.identify(ctx, c.gate)
	if err != nil || namespace == "" {
		return err // about all namespaces: the answer is reduced
	}
	verb := "get"
	if c.audience == Lister {
		verb = "list"
	}
	allowed, err := c.gate.may(ctx, who, right{key, verb, namespace})
	if err == nil && !allowed {
		err = forbidden(who, verb, namespace)
	}
	return err
}

// reduce reduces a list to what a person may see.
func (c caller) reduce(ctx context.Context, answer any) (any, error) {
	if c.certified {
		return answer, nil
	}
	list, ok := answer.(*rollcallv1.ListClustersResponse)
	if !ok {
		return nil, grpcstatus.Errorf(codes.Internal, "%s answers with a %T, which the gate cannot filter", c.method, answer)
	}
	key, who, err := c.shown.identify(ctx, c.gate)
	if err != nil {
		return nil, err
	}
	if all, err := c.gate.may(ctx, who, right{key, "list", ""}); err != nil || all {
		return answer, err
	}
	seen := &rollcallv1.ListClustersResponse{}
	for _, cluster := range list.GetClusters() {
		allowed, err := c.gate.may(ctx, who, right{key, "list", cluster.GetNamespace()})
		if err != nil {
			return nil, err
		}
		if allowed {
			seen.Clusters = append(seen.Clusters, cluster)
		}
	}
	if len(seen.GetClusters()) == 0 {
		// The answer is the same whether there are any, because that is not theirs to know.
		return nil, forbidden(who, "list", "")
	}
	return seen, nil
}
