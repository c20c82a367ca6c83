package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"google.golang.org/protobuf/proto"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Options are the options of a Mesh. Namespace, Cluster, ClusterUID, Pod, PodUID, Address and Peers
// are required, and Keys unless Insecure says that there is no encryption.
type Options struct {
	Namespace, Cluster, ClusterUID string
	Pod, PodUID                    string

	// Address is bound for TCP and UDP, and announced to the others. Port 0 takes a free one.
	Address netip.AddrPort
	// Keys are 32 bytes each. The first encrypts, all decrypt.
	Keys [][]byte
	// Insecure turns off encryption and authentication, for development only.
	Insecure bool

	// Peers returns the addresses at which agents of the cluster may be, including this one.
	Peers func(context.Context) ([]netip.AddrPort, error)

	// Allowed reports whether to accept anything from an address, or about a member there. Its
	// answer may change. Default: any.
	Allowed func(netip.Addr) bool

	// Near reports whether pods of the database are known to be in the network of an address.
	// Streams from elsewhere are accepted too, and are ended first if there are too many strangers.
	// Its answer may change. Default: all are near.
	Near func(netip.Addr) bool

	// Transport replaces the network.
	Transport memberlist.Transport
	Metrics   *Metrics
	Logger    *slog.Logger
}

func (o *Options) validate() error {
	if o.Pod == "" || o.PodUID == "" {
		return errors.New("pod and pod UID must be known")
	}
	if !o.Address.IsValid() || o.Address.Addr().IsUnspecified() {
		return fmt.Errorf("address %v cannot be told to others; it must be the pod's own", o.Address)
	}
	if o.Peers == nil {
		return errors.New("no peer discovery is configured")
	}
	if o.Insecure && len(o.Keys) > 0 {
		return errors.New("gossip keys must not be set in insecure development")
	}
	return nil
}

// How fast things are noticed and how much that costs; DESIGN.md has the
// measurements that these were chosen by.
const (
	gossipInterval = 200 * time.Millisecond
	// gossipNodes is how many others get news in one interval. With 8, and as many resends, each
	// member of a ring of nine tells all others, so that nobody is missed by chance.
	gossipNodes   = 8
	probeInterval = time.Second
	probeTimeout  = 500 * time.Millisecond
	suspicionMult = 4
	// resends times the number of digits of the ring's size is how often each member passes news
	// on. A member that is missed by chance waits minutes for an exchange: with memberlist's 4 and
	// 10 % loss that is one member of a hundred in one news of fourteen; with 6 and no loss it was
	// one of nine in one news of three hundred.
	resends = gossipNodes
	// indirectChecks is how many members are asked for a ping before a member is suspected. With
	// memberlist's 3 suspicions are most of the traffic when 10 % is lost.
	indirectChecks = 5
	// pushPullInterval grows with the ring, to ten minutes for 200.
	pushPullInterval = 150 * time.Second
	streamTimeout    = 5 * time.Second
	// toTheDead is how long news is still sent to dead members, so that one that is alive can
	// object. With memberlist's 30 s, half of all that is passed on after a split goes to the other
	// half, and one news in twenty misses somebody of twenty.
	toTheDead = time.Second
	// reclaim is the time after which a dead member may be back under another address: the same pod
	// with a new network.
	reclaim = 5 * time.Second

	// farewell is how long an agent that ends says that it leaves, unless its headline has told that,
	// and then that it has left: each goes out to gossipNodes others at the next interval. Resends are
	// not waited for: the pod is not made again before its agent has ended, and its database may be one
	// that all wait for.
	farewell = gossipInterval * 5 / 4
)

// Mesh is one agent's membership in the gossip of one database cluster.
type Mesh struct {
	options  Options
	tag      tag
	keys     *keys // nil without encryption
	config   *memberlist.Config
	delegate *delegate
	log      *logWriter
	table    *table

	mu       sync.Mutex
	headline *rollcallv1.Headline
	publish  chan struct{}
}

// New checks the options. It does not bind yet.
func New(o Options) (*Mesh, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	cluster, err := tagOf(o.Namespace, o.Cluster, o.ClusterUID)
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Allowed == nil {
		o.Allowed = func(netip.Addr) bool { return true }
	}
	if o.Near == nil {
		o.Near = func(netip.Addr) bool { return true }
	}
	m := &Mesh{options: o, tag: cluster, table: newTable(), publish: make(chan struct{}, 1)}
	m.delegate = &delegate{self: memberName(o.Pod, o.PodUID), tag: m.tag, table: m.table, metrics: o.Metrics, allowed: o.Allowed}

	c := memberlist.DefaultLANConfig()
	c.Name = m.delegate.self
	c.Label = string(cluster[:])
	c.Transport = o.Transport
	c.BindAddr, c.BindPort = o.Address.Addr().String(), int(o.Address.Port())
	c.AdvertiseAddr, c.AdvertisePort = c.BindAddr, c.BindPort
	c.GossipInterval, c.GossipNodes = gossipInterval, gossipNodes
	c.ProbeInterval, c.ProbeTimeout = probeInterval, probeTimeout
	c.SuspicionMult = suspicionMult
	c.RetransmitMult, c.IndirectChecks = resends, indirectChecks
	c.PushPullInterval = pushPullInterval
	c.TCPTimeout = streamTimeout
	c.DeadNodeReclaimTime = reclaim
	c.GossipToTheDeadTime = toTheDead
	// A compressor of memberlist is 72 KiB, made again for each packet; DESIGN.md has what it
	// spared. What others have compressed is not read, see gate.
	c.EnableCompression = false
	m.log = newLog(o.Logger, o.Metrics)
	c.Logger = m.log.lines()
	c.Delegate, c.Alive, c.Merge, c.Events = m.delegate, m.delegate, m.delegate, m.delegate
	if !o.Insecure {
		if m.keys, err = newKeys(o.Keys); err != nil {
			return nil, fmt.Errorf("gossip: %w", err)
		}
		c.Keyring = m.keys.ring
	}
	m.config = c

	return m, m.Publish(&rollcallv1.Headline{Pod: o.Pod, PodUid: o.PodUID})
}

// Publish makes h the headline of this agent. The caller keeps Pod and PodUid those of the options
// and lets Sequence grow; h may be changed afterwards.
func (m *Mesh) Publish(h *rollcallv1.Headline) error {
	if h.GetPod() != m.options.Pod || h.GetPodUid() != m.options.PodUID {
		return fmt.Errorf("gossip: headline of pod %q is not this agent's", h.GetPod())
	}
	h = proto.CloneOf(h)
	meta, err := encode(m.tag, stops(h), h)
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	m.mu.Lock()
	m.headline = h
	m.delegate.meta.Store(&meta)
	m.mu.Unlock()
	select {
	case m.publish <- struct{}{}:
	default: // the publisher is woken already and will take the newest
	}
	return nil
}

// Roster returns a copy of what is known, and a channel that is closed once something else is.
func (m *Mesh) Roster() (Roster, <-chan struct{}) { return m.table.copy() }

// Run takes part in the gossip until ctx ends, then leaves. It fails only if it cannot start.
func (m *Mesh) Run(ctx context.Context) error {
	config := *m.config
	if config.Transport == nil {
		network, err := listen(m.options.Address, m.hears, m.options.Logger)
		if err != nil {
			return fmt.Errorf("gossip: %w", err)
		}
		config.Transport, config.BindPort, config.AdvertisePort = network, int(network.own.Port()), int(network.own.Port())
	}
	config.Transport = m.gate(config.Transport)
	list, err := memberlist.Create(&config)
	if err != nil {
		_ = config.Transport.Shutdown()
		return fmt.Errorf("gossip: %w", err)
	}
	// Read once, before anything runs that makes memberlist write it.
	own := addressOf(list.LocalNode())
	m.options.Logger.Info("gossip listens", "address", own.String())

	var publishing, tasks sync.WaitGroup
	publishing.Go(func() { m.publishLoop(ctx, list) })
	tasks.Go(func() { (&joiner{mesh: m, list: list, own: own}).run(ctx) })
	if m.keys != nil {
		tasks.Go(func() { m.keys.sweep(ctx) })
	}
	<-ctx.Done()

	publishing.Wait() // memberlist takes one update of its own node at a time
	m.leave(list)
	err = list.Shutdown()
	tasks.Wait()
	if err != nil {
		return fmt.Errorf("gossip: stop: %w", err)
	}
	return nil
}

// hears reports whether to read anything from an address. Each refusal here is counted, and the
// first is logged.
func (m *Mesh) hears(from netip.Addr) bool {
	from = from.Unmap()
	if m.options.Allowed(from) {
		return true
	}
	m.log.refused(reasonAddress, []byte("from "+from.String()))
	return false
}

// gate bounds what comes over the network.
func (m *Mesh) gate(network memberlist.Transport) *gate {
	var keys func() [][]byte
	if m.keys != nil {
		keys = m.keys.ring.GetKeys
	}
	return newGate(network, m.config.Label, keys, m.table.knows, m.options.Near, func(why reason, from string) {
		m.log.refused(why, []byte("from "+from))
	})
}

func (m *Mesh) publishLoop(ctx context.Context, list *memberlist.Memberlist) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.publish:
			// The update is only queued: UpdateNode would otherwise wait until the last
			// retransmission, and delay a newer headline. The error only says that the wait was cut
			// short.
			_ = list.UpdateNode(time.Nanosecond)
			// The update has no effect if memberlist refutes a suspicion at the same time, because
			// that message has a higher incarnation.
			for ctx.Err() == nil && !m.delegate.upToDate() {
				_ = list.UpdateNode(time.Nanosecond)
			}
		}
	}
}

func (m *Mesh) leave(list *memberlist.Memberlist) {
	m.mu.Lock()
	told := stops(m.headline)
	meta, err := encode(m.tag, true, m.headline)
	if err == nil {
		m.delegate.meta.Store(&meta)
	}
	m.mu.Unlock()
	// The errors only say that not all resends are out.
	if !told {
		_ = list.UpdateNode(farewell)
	}
	_ = list.Leave(farewell)
}

// stops reports whether a headline tells that its pod stops, and so that the agent will leave.
func stops(h *rollcallv1.Headline) bool { return h.GetPhase() == rollcallv1.Phase_PHASE_STOPPING }
