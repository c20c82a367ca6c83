// Package network is what lies between the coordinators and the agents, and among
// the agents: it carries requests, streams and gossip late, twice, not at all or
// to somebody else, as a clock.Loop tells it.
package network

import (
	"context"
	"net/netip"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/agent"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Hub knows all agents by address. Only the loop changes it.
type Hub struct {
	loop   *clock.Loop
	agents map[string]*Agent // by IP
	gossip *Gossip
	// streams counts those of a kind that a process has opened to an address.
	streams map[string]int
	// ConfigDir is what all agents read.
	ConfigDir string

	// Blocked: nothing gets from one to the other. Processes and pods go by their
	// names.
	Blocked func(from, to string) bool
	// Slow lengthens a journey.
	Slow func(from, to string) time.Duration
	// Tamper may replace a report on its way; nil answers lose it.
	Tamper func(process, pod string, r *rollcallv1.Report) []*rollcallv1.Report
	// Misread is a planted bug: what is read of any report.
	Misread func(r *rollcallv1.Report) *rollcallv1.Report
	// Seen is when what a process has last heard of a pod was observed, by process
	// and UID.
	Seen map[string]map[string]time.Time
}

// New makes a hub without agents.
func New(loop *clock.Loop, configDir string) *Hub {
	h := &Hub{
		loop: loop, agents: map[string]*Agent{}, streams: map[string]int{}, ConfigDir: configDir, Seen: map[string]map[string]time.Time{},
		Blocked: func(string, string) bool { return false }, Slow: func(string, string) time.Duration { return 0 },
		Misread: func(r *rollcallv1.Report) *rollcallv1.Report { return r },
		Tamper:  func(_, _ string, r *rollcallv1.Report) []*rollcallv1.Report { return []*rollcallv1.Report{r} },
	}
	h.gossip = &Gossip{hub: h, meshes: map[string]*mesh{}}
	return h
}

// Agent is the sidecar of one pod.
type Agent struct {
	Pod, UID, IP string
	Engine       *database.Engine
	// Skew is by how much its clock is ahead.
	Skew time.Duration
	// Stuck is true if it takes requests and answers none.
	Stuck bool

	service rollcallv1.AgentServiceServer
	hook    func(context.Context) string
	ctx     context.Context
	cancel  context.CancelFunc
	killed  bool
}

// Options of an agent.
type Options struct {
	Namespace, Cluster string
	Pod, UID, IP, Zone string
	Grace              time.Duration
	StateDir           string
	Engine             *database.Engine
	// Token is what the stop hook asks for.
	Token string
}

// Start runs the agent of a pod.
func (h *Hub) Start(o Options) *Agent {
	a := &Agent{Pod: o.Pod, UID: o.UID, IP: o.IP, Engine: o.Engine}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	real, err := agent.New(agent.Options{
		Identity: config.Identity{
			Namespace: o.Namespace, Cluster: o.Cluster, Pod: o.Pod, PodUID: o.UID, PodIP: netip.MustParseAddr(o.IP),
			Zone: o.Zone, Grace: o.Grace, StopToken: o.Token,
		},
		NewEngine: func(config.File, engines.Peers) (engines.Engine, error) { return o.Engine, nil },
		ConfigDir: h.ConfigDir, StateDir: o.StateDir, Insecure: true, ConfigInterval: time.Minute,
		ProbeInterval: time.Second + h.loop.Between(0, 100*time.Millisecond),
		Heartbeat:     7 * time.Second,
		NewMesh:       func(gossip.Options) (peers.Mesh, error) { return h.gossip.mesh(a), nil },
	})
	if err != nil {
		panic(err) // the options above are right
	}
	go real.RunWithin(a.ctx, func(service rollcallv1.AgentServiceServer, hook func(context.Context) string) {
		h.loop.Ask("agent "+a.UID, func() { a.service, a.hook = service, hook })
	})
	h.agents[a.IP] = a
	return a
}

// Stop ends an agent; one that is killed says no good-bye.
func (h *Hub) Stop(a *Agent, killed bool) {
	a.killed = killed
	a.cancel()
	if h.agents[a.IP] == a {
		delete(h.agents, a.IP)
	}
}

// StopHook is the kubelet's call before it stops the database's container.
func (h *Hub) StopHook(a *Agent, grace time.Duration, done func(line string)) {
	if a.hook == nil || a.Stuck {
		h.loop.In(grace, func() { done("no answer") })
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, grace)
	go func() {
		defer cancel()
		line := a.hook(ctx)
		h.loop.Ask("hook "+a.UID, func() { done(line) })
	}()
}

// Carry has deliver called after a journey, if there is a way.
func (h *Hub) Carry(from, to string, deliver func()) {
	if h.Blocked(from, to) {
		return
	}
	h.loop.In(h.loop.Between(200*time.Microsecond, 3*time.Millisecond)+h.Slow(from, to), deliver)
}

// told notes what a process hears of a pod.
func (h *Hub) told(process string, a *Agent, r *rollcallv1.Report) {
	if r.GetObservedAt() == nil || r.GetError() != "" {
		return
	}
	if h.Seen[process] == nil {
		h.Seen[process] = map[string]time.Time{}
	}
	if at := r.GetObservedAt().AsTime().Add(-a.Skew); at.After(h.Seen[process][a.UID]) {
		h.Seen[process][a.UID] = at
	}
}

// skewed is a report as an agent writes it whose node's clock is ahead.
func (a *Agent) skewed(r *rollcallv1.Report) *rollcallv1.Report {
	if a.Skew == 0 || r.GetObservedAt() == nil {
		return r
	}
	r = proto.CloneOf(r)
	r.ObservedAt = timestamppb.New(r.GetObservedAt().AsTime().Add(a.Skew))
	return r
}
