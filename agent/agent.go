package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Options of an Agent. Identity and NewEngine are required; everything else has
// the default that is named.
type Options struct {
	Identity config.Identity
	// NewEngine makes the adapter that the configuration asks for, which reaches
	// the database's other members through the peers.
	NewEngine func(config.File, engines.Peers) (engines.Engine, error)
	// Version of the agent, told to others. Default "dev".
	Version string

	ConfigDir string // default config.Dir
	StateDir  string // default none: what the stop hook did is forgotten with the process

	GRPCAddress string // default :7947
	HTTPAddress string // default :7948
	GossipPort  uint16 // default 7946; bound on the pod's IP
	// Insecure serves everything without encryption and to everybody. For
	// development only.
	Insecure bool

	ProbeInterval  time.Duration // default 1 s
	ProbeTimeout   time.Duration // default 10 s
	Heartbeat      time.Duration // of streams, default 5 s
	ConfigInterval time.Duration // default 1 s
	// SyncTimeout is how long orders wait for the peers' epochs after the start of
	// gossip. Default 30 s.
	SyncTimeout time.Duration

	// Peers finds agents by the name of their Service. Default: DNS, and GossipPort.
	Peers func(ctx context.Context, service string) ([]netip.AddrPort, error)
	// NewMesh joins the gossip. Default: gossip.New.
	NewMesh func(gossip.Options) (Mesh, error)
	// Transport of gossip and listeners, for tests. Default: the network.
	Transport    memberlist.Transport
	GRPCListener net.Listener
	HTTPListener net.Listener

	Logger *slog.Logger // default: none
}

const (
	// maxRequestBytes has room for the largest request of another agent.
	maxRequestBytes = engines.MaxStep + 16<<10
	maxStreams      = 64
	// maxHeaders and window bound what a connection has in memory before a method is called.
	maxHeaders = 16 << 10
	window     = 64 << 10
	teardown   = 2 * time.Second
)

func (o *Options) complete() {
	set(&o.Version, "dev")
	set(&o.ConfigDir, config.Dir)
	set(&o.GRPCAddress, ":"+strconv.Itoa(config.PortGRPC))
	set(&o.HTTPAddress, ":"+strconv.Itoa(config.PortHTTP))
	set(&o.GossipPort, config.PortGossip)
	set(&o.ProbeInterval, time.Second)
	set(&o.ProbeTimeout, 10*time.Second)
	set(&o.Heartbeat, 5*time.Second)
	set(&o.ConfigInterval, time.Second)
	set(&o.SyncTimeout, 30*time.Second)
	if o.Peers == nil {
		o.Peers = resolve(o.GossipPort)
	}
	if o.NewMesh == nil {
		o.NewMesh = func(g gossip.Options) (Mesh, error) { return gossip.New(g) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o *Options) validate() error {
	id := o.Identity
	switch {
	case o.NewEngine == nil:
		return errors.New("nothing makes an engine")
	case id.Namespace == "" || id.Cluster == "" || id.Pod == "" || id.PodUID == "" || !id.PodIP.IsValid():
		return fmt.Errorf("identity of pod %q is not complete", id.Pod)
	case o.ProbeInterval < 0 || o.ProbeTimeout < 0 || o.Heartbeat < 0 || o.ConfigInterval < 0 || o.SyncTimeout < 0:
		return errors.New("intervals and timeouts must not be negative")
	}
	return nil
}

// Agent is the whole sidecar.
type Agent struct {
	options  Options
	logger   *slog.Logger
	registry *prometheus.Registry

	slot    slot
	board   *board
	fence   *fence
	mesh    *meshKeeper
	keys    keys
	prober  *prober
	metrics *metrics
	gossip  *gossip.Metrics
	// lately is what was refused, for people.
	lately *door.Refusals
}

// New wires the agent and starts nothing.
func New(o Options) (*Agent, error) {
	o.complete()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a := &Agent{options: o, logger: o.Logger, registry: prometheus.NewRegistry(), lately: &door.Refusals{}}
	a.board = newBoard(a.identity(), a.logger)
	a.board.lately = a.lately
	a.fence = &fence{raised: a.board.setEpoch}
	a.mesh = newMeshKeeper(o.SyncTimeout, a.logger)
	a.metrics = newMetrics(a.registry, o.Version, a.age)
	a.gossip = gossip.NewMetrics(a.registry)
	a.gossip.Lately = a.lately
	return a, nil
}

// process has the metrics of the whole process, whatever runs in it.
var process = sync.OnceValue(func() prometheus.Gatherer {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
})

func (a *Agent) identity() *rollcallv1.Identity {
	id := a.options.Identity
	return &rollcallv1.Identity{
		Namespace: id.Namespace, Cluster: id.Cluster, Pod: id.Pod, PodUid: id.PodUID, Node: id.Node, Zone: id.Zone,
		Incarnation:  a.incarnation(time.Now()),
		AgentVersion: a.options.Version,
	}
}

// incarnation numbers this run of the agent in its pod.
func (a *Agent) incarnation(now time.Time) uint64 {
	number, err := store{a.options.StateDir, a.options.Identity.PodUID}.nextRun(now)
	if err != nil {
		a.logger.Warn("this run is told from earlier ones by the clock alone, which may have been set back", "error", err)
	}
	return number
}

func (a *Agent) age() time.Duration {
	v, _ := a.board.newest()
	if v.sighting.sequence == 0 {
		return 0
	}
	return time.Since(v.sighting.started)
}

// Run serves until ctx ends, and ends when everything that it started has ended.
// It fails only when it cannot listen.
func (a *Agent) Run(ctx context.Context) error {
	grpcListener, err := listen(a.options.GRPCListener, a.options.GRPCAddress)
	if err != nil {
		return fmt.Errorf("agent: gRPC: %w", err)
	}
	httpListener, err := listen(a.options.HTTPListener, a.options.HTTPAddress)
	if err != nil {
		_ = grpcListener.Close()
		return fmt.Errorf("agent: HTTP: %w", err)
	}

	doors := door.New(a.metrics.connections, a.logger)
	doors.Lately = a.lately
	grpcListener, httpListener = doors.Limit("grpc", grpcListener, grpcLimits), doors.Limit("http", httpListener, httpLimits)

	// The inner context ends after the servers have, so that nobody is served by
	// parts that have stopped.
	inner, stopInner := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInner()
	p := a.assemble(inner, portOf(grpcListener), ctx.Done())
	rpc := a.rpc(p)
	site := (&web{
		token: a.options.Identity.StopToken, hook: p.stopper.call, origins: newOrigins(a.options.Identity, p.settings.stopNetworks),
		calls: a.metrics.stopCalls, quiet: door.NewQuiet(), lately: a.lately, gatherer: prometheus.Gatherers{a.registry, process()}, logger: a.logger,
		unready: func() []string { return a.unready(p.settings) },
	}).server(httpListener.Addr().String())

	var servers sync.WaitGroup
	ended := p.start(inner)
	served := make(chan error, 2)
	servers.Go(func() { served <- named("gRPC", rpc.Serve(grpcListener)) })
	servers.Go(func() { served <- named("HTTP", site.Serve(httpListener)) })
	a.logger.Info("agent runs", "version", a.options.Version, "grpc", grpcListener.Addr().String(),
		"http", httpListener.Addr().String(), "insecure", a.options.Insecure)

	select {
	case <-ctx.Done():
		err = nil
	case err = <-served:
	}
	stopServers(rpc, site)
	servers.Wait()
	stopInner()
	ended()
	p.close()
	a.logger.Info("agent ended")
	return err
}

func (a *Agent) rpc(p *parts) *grpc.Server {
	reading := newReaders(func(from net.Addr) {
		a.metrics.connections.WithLabelValues("grpc", "reader").Inc()
		a.lately.Note("connections: readers", from.String())
	})
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ReadBufferSize(8 << 10), grpc.WriteBufferSize(8 << 10),
		grpc.ForceServerCodecV2(reading.codec(exact{encoding.GetCodecV2(encodingproto.Name)})),
	}
	if a.options.Insecure {
		options = append(options, grpc.Creds(insecure.NewCredentials()))
		a.logger.Warn("INSECURE: gRPC and gossip are open to everybody, without encryption; for development only")
	} else {
		callers := newCallers(a.metrics.callers, a.lately, a.logger)
		who := access{config.ServerName(a.options.Identity.Namespace, a.options.Identity.Cluster), &a.keys, callers}
		options = append(options, grpc.Creds(guarded{a.keys.server(), callers, who, reading}),
			grpc.InTapHandle(func(ctx context.Context, call *tap.Info) (context.Context, error) {
				return ctx, who.authorize(ctx, call.FullMethodName)
			}),
			grpc.ChainUnaryInterceptor(who.unary, reading.unary), grpc.ChainStreamInterceptor(who.stream, reading.stream))
	}
	server := grpc.NewServer(options...)
	rollcallv1.RegisterAgentServiceServer(server, p.service)
	rollcallv1.RegisterPeerServiceServer(server, p.peerService)
	healthy := health.NewServer()
	healthy.SetServingStatus(rollcallv1.AgentService_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, healthy)
	reflection.Register(server)
	return server
}

// unready says what is not as it should be. The database is not affected by any
// of it.
func (a *Agent) unready(s *settings) []string {
	var reasons []string
	if problem := s.trouble(); problem != "" {
		reasons = append(reasons, "configuration: "+problem)
	} else if !s.isApplied() {
		reasons = append(reasons, "configuration: not read yet")
	}
	if !a.options.Insecure && !a.keys.loaded() {
		reasons = append(reasons, "gRPC: no certificate yet")
	}
	if problem := a.mesh.trouble(); problem != "" {
		reasons = append(reasons, "gossip: "+problem)
	} else if !a.mesh.heard() {
		reasons = append(reasons, "gossip: no peer was heard yet")
	}
	v, _ := a.board.newest()
	if err := v.report(time.Now(), false).GetError(); err != "" {
		reasons = append(reasons, "database: "+err)
	}
	return reasons
}

func (a *Agent) translate(pods []string) []string {
	roster, _ := a.mesh.roster()
	v, _ := a.board.newest()
	return nodesOf(pods, roster, v.sighting.observation.Nodes)
}

// stopServers ends requests gently at first; streams end by themselves.
func stopServers(rpc *grpc.Server, site *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), teardown)
	defer cancel()
	gentle := make(chan struct{})
	go func() {
		rpc.GracefulStop()
		close(gentle)
	}()
	if site.Shutdown(ctx) != nil {
		_ = site.Close()
	}
	select {
	case <-gentle:
	case <-ctx.Done():
		rpc.Stop()
		<-gentle
	}
}

func listen(given net.Listener, address string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	return net.Listen("tcp", address)
}

// portOf is the port of a listener, and the usual one of none.
func portOf(l net.Listener) string {
	if l == nil {
		return strconv.Itoa(config.PortGRPC)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return strconv.Itoa(config.PortGRPC)
	}
	return port
}

func named(what string, err error) error {
	if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("agent: %s: %w", what, err)
}
