package peers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/term"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// Timeout bounds one call of another agent, at both ends.
	Timeout = 10 * time.Second
	// peerIdle is when an unused connection is closed.
	peerIdle = time.Minute
	// MaxMessage has room for the largest request of another agent.
	MaxMessage = engines.MaxStep + 16<<10
	MaxClaim   = 256
)

// Options are the options of Peers. All are required.
type Options struct {
	Pod         string // this agent's own
	Mesh        *Keeper
	Fence       *fence.Fence
	Credentials credentials.TransportCredentials
}

// Peers asks the agents of the database's other members. It implements
// engines.Peers.
//
// Invariants: it asks only agents that are alive in the gossip, at the address
// announced there, and they must prove that they belong to this database. Each call
// ends within Timeout. There is one connection per agent, closed when the agent is
// not alive.
type Peers struct {
	Options
	timeout time.Duration // of each call

	mu     sync.Mutex
	links  map[string]*link  // by pod UID
	nodes  map[string]string // by pod UID, as last announced
	closed bool
}

type link struct {
	address    string
	connection *grpc.ClientConn
	// clock is the agent's, for the terms of steps. Guarded by Peers.mu.
	clock term.Clock
}

func (l *link) client() rollcallv1.PeerServiceClient {
	return rollcallv1.NewPeerServiceClient(l.connection)
}

// known is a peer and what is needed to ask it.
type known struct {
	engines.Peer
	uid, address string
}

func New(o Options) *Peers {
	return &Peers{Options: o, timeout: Timeout, links: map[string]*link{}, nodes: map[string]string{}}
}

// List implements engines.Peers.
func (p *Peers) List() []engines.Peer {
	var list []engines.Peer
	for _, k := range p.known() {
		list = append(list, k.Peer)
	}
	return list
}

// known reads the roster, and closes connections to agents that are gone.
func (p *Peers) known() []known {
	roster, _ := p.Mesh.Roster()
	return p.follow(roster)
}

// follow returns one peer per pod, sorted.
func (p *Peers) follow(roster gossip.Roster) []known {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []known
	there := map[string]bool{}
	for _, e := range roster.Entries {
		h := e.Headline
		if h.GetPod() == p.Pod {
			continue
		}
		there[h.GetPodUid()] = true
		if h.GetNode() != "" {
			p.nodes[h.GetPodUid()] = h.GetNode()
		}
		k := known{uid: h.GetPodUid(), address: h.GetAddress(), Peer: engines.Peer{
			Pod: h.GetPod(), Since: e.Since,
			// An agent that has restarted while its database does not answer has not
			// learned the name yet; the pod's is the same.
			Node:    p.nodes[h.GetPodUid()],
			Alive:   e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE,
			Leaving: leaves(h),
		}}
		if n := len(all) - 1; n < 0 || all[n].Pod != k.Pod {
			all = append(all, k) // the roster is sorted by pod
		} else if k.Alive && !all[n].Alive || k.Alive == all[n].Alive && k.Since.After(all[n].Since) {
			all[n] = k
		}
	}
	for uid := range p.nodes {
		if !there[uid] {
			delete(p.nodes, uid)
		}
	}
	for uid, l := range p.links {
		if !slices.ContainsFunc(all, func(k known) bool { return k.uid == uid && k.Alive && k.address == l.address }) {
			_ = l.connection.Close()
			delete(p.links, uid)
		}
	}
	return all
}

// leaves reports whether a pod is being stopped or drained. A refused drain leaves
// it where it is.
func leaves(h *rollcallv1.Headline) bool {
	return h.GetPhase() == rollcallv1.Phase_PHASE_STOPPING ||
		h.GetDrain() == rollcallv1.Drain_DRAIN_DRAINING || h.GetDrain() == rollcallv1.Drain_DRAIN_DRAINED
}

// Look implements engines.Peers.
func (p *Peers) Look(ctx context.Context, node string, fresh bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	to, err := p.link(node)
	if err != nil {
		return nil, err
	}
	return p.look(ctx, to, node, fresh)
}

func (p *Peers) look(ctx context.Context, to *link, node string, fresh bool) ([]byte, error) {
	answer, err := to.client().Look(ctx, &rollcallv1.LookRequest{Fresh: fresh, Node: node})
	if err != nil {
		return nil, peerError(ctx, node, err)
	}
	arrived := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	to.clock.Hear(answer.GetIncarnation(), answer.GetUptime(), arrived)
	return []byte(answer.GetBody()), nil
}

// term returns the term of a step by the clock of the agent that is to take it. An
// agent that has not told its uptime recently is asked first.
func (p *Peers) term(ctx context.Context, to *link, node string, end time.Time) (*rollcallv1.Term, error) {
	named := func() *rollcallv1.Term {
		p.mu.Lock()
		defer p.mu.Unlock()
		if end.IsZero() || to.clock.Knows(time.Now()) {
			return to.clock.Term(end)
		}
		return nil
	}
	if t := named(); t != nil {
		return t, nil
	}
	if _, err := p.look(ctx, to, node, false); err != nil {
		return nil, err
	}
	if t := named(); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("the agent of %s does not tell its uptime, so no step of it would end in time: it is of an older version than this one, and has to be updated", engines.OneLine(node))
}

// Step implements engines.Peers.
func (p *Peers) Step(ctx context.Context, node string, step engines.Step) ([]byte, error) {
	if err := CheckStep(step); err != nil {
		return nil, err
	}
	if err := engines.InTime(step.NotAfter); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	to, err := p.link(node)
	if err != nil {
		return nil, err
	}
	until, err := p.term(ctx, to, node, step.NotAfter)
	if err != nil {
		return nil, err
	}
	cluster, highest := p.Fence.Seen()
	if step.Epoch == 0 {
		step.Epoch = highest
	}
	request := &rollcallv1.StepRequest{
		Step: step.Name, Claim: step.Claim, Node: node, AskedBy: p.Pod, Body: string(step.Body),
		Fence: &rollcallv1.Fence{ClusterUid: cluster, Epoch: step.Epoch}, Term: until,
	}
	answer, err := to.client().Step(ctx, request)
	if err != nil {
		if fence.ReasonOf(err) == fence.ReasonOtherRun {
			p.mu.Lock()
			to.clock = term.Clock{} // asked again for the next step
			p.mu.Unlock()
		}
		// The current coordinator has not ordered anything here yet. Without this, a
		// step that undoes something would be refused until it does.
		p.Fence.Heard(config.HeardEpoch(fence.HighestOf(err)))
		return nil, peerError(ctx, node, err)
	}
	return []byte(answer.GetBody()), nil
}

// link returns the connection to the agent of the node, and makes it if needed. An
// agent that has not learned its node is known by its pod: it answers looks and
// refuses steps.
func (p *Peers) link(node string) (*link, error) {
	var to *known
	for _, k := range p.known() {
		switch {
		case node == "" || k.Name() != node || !k.Alive:
		case to != nil:
			return nil, fmt.Errorf("both %s and %s say that they are %s", to.Pod, k.Pod, engines.OneLine(node))
		default:
			to = &k
		}
	}
	if to == nil {
		return nil, fmt.Errorf("no agent that is alive says that it is %q", engines.OneLine(node))
	}
	if _, err := netip.ParseAddrPort(to.address); err != nil {
		return nil, fmt.Errorf("%s does not tell where it is reached: %w", to.Pod, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the agent is stopping")
	}
	l := p.links[to.uid]
	if l == nil {
		connection, err := grpc.NewClient("passthrough:///"+to.address,
			grpc.WithTransportCredentials(p.Credentials), grpc.WithNoProxy(), grpc.WithIdleTimeout(peerIdle),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second},
				MinConnectTimeout: 3 * time.Second,
			}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
			grpc.WithDisableServiceConfig(), grpc.WithReadBufferSize(8<<10), grpc.WithWriteBufferSize(8<<10),
		)
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", to.Pod, to.address, err)
		}
		l = &link{address: to.address, connection: connection}
		p.links[to.uid] = l
	}
	return l, nil
}

// Close ends all calls.
func (p *Peers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for uid, l := range p.links {
		_ = l.connection.Close()
		delete(p.links, uid)
	}
}

// peerError says what another agent answered, without gRPC's words.
func peerError(ctx context.Context, node string, err error) error {
	text := engines.OneLine(status.Convert(err).Message())
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %s: %w", engines.OneLine(node), text, ctx.Err())
	case status.Code(err) == codes.DeadlineExceeded: // the other end's clock was first
		return fmt.Errorf("%s: %s: %w", engines.OneLine(node), text, context.DeadlineExceeded)
	}
	return fmt.Errorf("%s: %s", engines.OneLine(node), text)
}

// CheckStep bounds what is sent, and what is accepted.
func CheckStep(step engines.Step) error {
	switch {
	case step.Name == "" || len(step.Name) > MaxClaim:
		return fmt.Errorf("step must have a name of 1 to %d characters", MaxClaim)
	case len(step.Claim) > MaxClaim:
		return fmt.Errorf("claim must have at most %d characters", MaxClaim)
	case len(step.Body) > engines.MaxStep:
		return fmt.Errorf("step %s has %d bytes; at most %d are allowed", engines.OneLine(step.Name), len(step.Body), engines.MaxStep)
	}
	return nil
}
