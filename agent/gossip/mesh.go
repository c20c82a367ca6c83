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

// Options of a Mesh. Namespace, Cluster, ClusterUID, Pod, PodUID, Address and
// Peers are required, and Keys unless Insecure says that there is no encryption.
type Options struct {
	Namespace, Cluster, ClusterUID string
	Pod, PodUID                    string

	// Address is bound, for TCP and UDP, and told to the others. Port 0 takes a
	// free one.
	Address netip.AddrPort
	// Keys are 32 bytes each; the first is sent with, all are received with.
	Keys [][]byte
	// Insecure: no encryption and no authentication, for development only.
	Insecure bool

	// Peers answers where agents of the cluster may be found, itself included.
	Peers func(context.Context) ([]netip.AddrPort, error)

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
		return errors.New("nobody says where peers are")
	}
	if o.Insecure != (len(o.Keys) == 0) {
		return errors.New("a gossip key is required; only insecure development runs without one")
	}
	for _, key := range o.Keys {
		if len(key) != 32 {
			return fmt.Errorf("gossip key has %d bytes; it must have 32", len(key))
		}
	}
	return nil
}

// How fast things are noticed and how much that costs; DESIGN.md has the
// measurements that these were chosen by.
const (
	gossipInterval   = 200 * time.Millisecond
	gossipNodes      = 4
	probeInterval    = time.Second
	probeTimeout     = 500 * time.Millisecond
	suspicionMult    = 4
	pushPullInterval = 60 * time.Second
	streamTimeout    = 5 * time.Second
	// reclaim is when a dead member may be back under another address: the same
	// pod, whose network was made anew.
	reclaim = 5 * time.Second

	announceTimeout = 500 * time.Millisecond
	leaveTimeout    = time.Second
)

// Mesh is one agent's membership in the gossip of one database cluster.
type Mesh struct {
	options  Options
	tag      tag
	keyring  *memberlist.Keyring
	config   *memberlist.Config
	delegate *delegate
	table    *table

	mu       sync.Mutex
	headline *rollcallv1.Headline
	publish  chan struct{}
}

// New checks the options and binds nothing yet.
func New(o Options) (*Mesh, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	label, err := Label(o.Namespace, o.Cluster, o.ClusterUID)
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	m := &Mesh{options: o, tag: tagOf(label), table: newTable(), publish: make(chan struct{}, 1)}
	m.delegate = &delegate{self: memberName(o.Pod, o.PodUID), tag: m.tag, table: m.table, metrics: o.Metrics}

	c := memberlist.DefaultLANConfig()
	c.Name = m.delegate.self
	c.Label = label
	c.Transport = o.Transport
	c.BindAddr, c.BindPort = o.Address.Addr().String(), int(o.Address.Port())
	c.AdvertiseAddr, c.AdvertisePort = c.BindAddr, c.BindPort
	c.GossipInterval, c.GossipNodes = gossipInterval, gossipNodes
	c.ProbeInterval, c.ProbeTimeout = probeInterval, probeTimeout
	c.SuspicionMult = suspicionMult
	c.PushPullInterval = pushPullInterval
	c.TCPTimeout = streamTimeout
	c.DeadNodeReclaimTime = reclaim
	c.Logger = newLog(o.Logger)
	c.Delegate, c.Alive, c.Merge, c.Events = m.delegate, m.delegate, m.delegate, m.delegate
	if !o.Insecure {
		if m.keyring, err = memberlist.NewKeyring(o.Keys, o.Keys[0]); err != nil {
			return nil, fmt.Errorf("gossip: %w", err)
		}
		c.Keyring = m.keyring
	}
	m.config = c

	return m, m.Publish(&rollcallv1.Headline{Pod: o.Pod, PodUid: o.PodUID})
}

// Publish makes h the own headline. The caller keeps Pod and PodUid those of the
// options and lets Sequence grow; h may be changed afterwards.
func (m *Mesh) Publish(h *rollcallv1.Headline) error {
	if h.GetPod() != m.options.Pod || h.GetPodUid() != m.options.PodUID {
		return fmt.Errorf("gossip: headline of pod %q is not this agent's", h.GetPod())
	}
	h = proto.CloneOf(h)
	meta, err := encode(m.tag, false, h)
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

// Roster answers a copy of what is known, and a channel that is closed once
// something else is.
func (m *Mesh) Roster() (Roster, <-chan struct{}) { return m.table.copy() }

// Rekey takes new keys, the first to send with. Nobody is cut off while every
// member has the others' first key among its own.
func (m *Mesh) Rekey(keys [][]byte) error {
	if m.keyring == nil || len(keys) == 0 {
		return errors.New("gossip: keys cannot be turned on or off while running")
	}
	for _, key := range keys {
		if err := m.keyring.AddKey(key); err != nil {
			return fmt.Errorf("gossip: %w", err)
		}
	}
	if err := m.keyring.UseKey(keys[0]); err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	for _, old := range m.keyring.GetKeys() {
		if !containsKey(keys, old) {
			if err := m.keyring.RemoveKey(old); err != nil {
				return fmt.Errorf("gossip: %w", err)
			}
		}
	}
	return nil
}

// Run takes part until ctx ends, then says good-bye. It fails only when it cannot
// start.
func (m *Mesh) Run(ctx context.Context) error {
	list, err := memberlist.Create(m.config)
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	// Read once, before anything runs that makes memberlist write it.
	own := addressOf(list.LocalNode())
	m.options.Logger.Info("gossip listens", "address", own.String())

	var tasks sync.WaitGroup
	tasks.Go(func() { m.publishLoop(ctx, list) })
	tasks.Go(func() { (&joiner{mesh: m, list: list, own: own}).run(ctx) })
	<-ctx.Done()

	m.leave(list)
	err = list.Shutdown()
	tasks.Wait()
	if err != nil {
		return fmt.Errorf("gossip: stop: %w", err)
	}
	return nil
}

func (m *Mesh) publishLoop(ctx context.Context, list *memberlist.Memberlist) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.publish:
			// Only queued: UpdateNode would otherwise wait until the last
			// retransmission, and a newer headline with it. The error says no
			// more than that the wait was cut short.
			_ = list.UpdateNode(time.Nanosecond)
		}
	}
}

func (m *Mesh) leave(list *memberlist.Memberlist) {
	m.mu.Lock()
	meta, err := encode(m.tag, true, m.headline)
	if err == nil {
		m.delegate.meta.Store(&meta)
	}
	m.mu.Unlock()
	_ = list.UpdateNode(announceTimeout)
	if err := list.Leave(leaveTimeout); err != nil {
		m.options.Logger.Info("gossip left without a good-bye", "error", err)
	}
}

func containsKey(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if string(k) == string(key) {
			return true
		}
	}
	return false
}
