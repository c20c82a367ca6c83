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
	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/serve"
	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/agent/stophook"
	"github.com/rollcall-dev/rollcall/agent/trust"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Options are the options of an Agent. Identity and NewEngine are required; the others have
// defaults.
type Options struct {
	Identity config.Identity
	// NewEngine makes the adapter for the configuration. It reaches the database's
	// other members through the peers.
	NewEngine func(config.File, engines.Peers) (engines.Engine, error)
	// Version is the version of the agent in reports. Default "dev".
	Version string

	ConfigDir string // default config.Dir
	StateDir  string // default none: what the stop hook did is forgotten with the process

	GRPCAddress string // default :7947
	HTTPAddress string // default :7948
	GossipPort  uint16 // default 7946; bound on the pod's IP
	// Insecure serves everything to everybody, without encryption. For development
	// only.
	Insecure bool

	ProbeInterval  time.Duration // default 1 s
	ProbeTimeout   time.Duration // default 10 s
	Heartbeat      time.Duration // of streams, default 5 s
	ConfigInterval time.Duration // default 1 s
	// SyncTimeout is how long orders wait for the peers' epochs after gossip has
	// started. Default 30 s.
	SyncTimeout time.Duration

	// Peers finds agents by the name of their Service. Default: DNS, and GossipPort.
	Peers func(ctx context.Context, service string) ([]netip.AddrPort, error)
	// NewMesh joins the gossip. Default: gossip.New.
	NewMesh func(gossip.Options) (peers.Mesh, error)
	// Transport is the transport of gossip and listeners, for tests. Default: the network.
	Transport    memberlist.Transport
	GRPCListener net.Listener
	HTTPListener net.Listener

	Logger *slog.Logger // default: none
}

const (
	teardown = 2 * time.Second
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
		o.NewMesh = func(g gossip.Options) (peers.Mesh, error) { return gossip.New(g) }
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
		return errors.New("no engine factory is set")
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

	slot    probe.Slot
	board   *probe.Board
	fence   *fence.Fence
	mesh    *peers.Keeper
	keys    trust.Keys
	prober  *probe.Prober
	metrics *metrics
	// refusals remembers for people what was refused recently.
	refusals *door.Refusals
}

// New wires the agent and starts nothing.
func New(o Options) (*Agent, error) {
	o.complete()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a := &Agent{options: o, logger: o.Logger, registry: prometheus.NewRegistry(), refusals: &door.Refusals{}}
	a.board = probe.NewBoard(a.identity(), a.logger)
	a.board.Refusals = a.refusals
	a.fence = &fence.Fence{OnRaise: a.board.SetEpoch}
	a.mesh = peers.NewKeeper(o.SyncTimeout, a.logger)
	a.metrics = newMetrics(a.registry, o.Version, a.board)
	a.metrics.gossip.Lately = a.refusals
	return a, nil
}

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
	number, err := state.Store{Dir: a.options.StateDir, PodUID: a.options.Identity.PodUID}.NextRun(now)
	if err != nil {
		a.logger.Warn("this run is told from earlier ones by the clock alone, which may have been set back", "error", err)
	}
	return number
}

// Run serves until ctx ends, and returns when everything that it started has ended.
// It fails only if it cannot listen.
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

	doors := door.New(a.metrics.serve.Connections, a.logger)
	doors.Lately = a.refusals
	grpcListener, httpListener = doors.Limit("grpc", grpcListener, serve.GRPCLimits), doors.Limit("http", httpListener, serve.HTTPLimits)

	// The inner context ends after the servers have, so that nobody is served by
	// parts that have stopped.
	inner, stopInner := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInner()
	p := a.assemble(inner, portOf(grpcListener), ctx.Done())
	rpc := serve.NewGRPC(serve.GRPCOptions{
		Service: p.service, PeerService: p.peerService, Keys: p.keys,
		ServerName: config.ServerName(a.options.Identity.Namespace, a.options.Identity.Cluster),
		Metrics:    a.metrics.serve, Refusals: a.refusals, Logger: a.logger,
	})
	site := (&serve.Web{
		Token: a.options.Identity.StopToken, Hook: p.stopper.Call, Origins: stophook.NewOrigins(a.options.Identity, p.settings.stopNetworks),
		Calls: a.metrics.stop.Calls, Quiet: door.NewQuiet(), Refusals: a.refusals, Gatherer: prometheus.Gatherers{a.registry, process()}, Logger: a.logger,
		Unready: func() []string { return a.unready(p.settings) },
	}).Server(httpListener.Addr().String())

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

// unready says what is wrong. None of it affects the database.
func (a *Agent) unready(s *settings) []string {
	var reasons []string
	if problem := s.trouble(); problem != "" {
		reasons = append(reasons, "configuration: "+problem)
	} else if !s.isApplied() {
		reasons = append(reasons, "configuration: not read yet")
	}
	if !a.options.Insecure && !a.keys.Loaded() {
		reasons = append(reasons, "gRPC: no certificate yet")
	}
	if problem := a.mesh.Problem(); problem != "" {
		reasons = append(reasons, "gossip: "+problem)
	} else if !a.mesh.Heard() {
		reasons = append(reasons, "gossip: no peer was heard yet")
	}
	v, _ := a.board.Latest()
	if err := v.Report(time.Now(), false).GetError(); err != "" {
		reasons = append(reasons, "database: "+err)
	}
	return reasons
}

func (a *Agent) translate(pods []string) []string {
	roster, _ := a.mesh.Roster()
	v, _ := a.board.Latest()
	return peers.NodesOf(pods, roster, v.Result.Observation.Nodes)
}

// stopServers lets requests finish first; streams end by themselves.
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

// portOf returns the port of a listener, and the default one without a listener.
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
