package gossip

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// network is a small lossy one in memory, made for virtual time: nothing in it
// ever blocks a sender, also not when the receiver has stopped.
type network struct {
	mu     sync.Mutex
	random *rand.Rand
	ends   map[netip.AddrPort]*transport
	loss   float64 // of packets
	// split tells whether nothing gets from a to b.
	split   func(a, b netip.AddrPort) bool
	latency time.Duration

	packets, bytes atomic.Int64
}

func newNetwork(seed uint64) *network {
	return &network{
		random:  rand.New(rand.NewPCG(seed, 1)),
		ends:    map[netip.AddrPort]*transport{},
		split:   func(a, b netip.AddrPort) bool { return false },
		latency: 2 * time.Millisecond,
	}
}

func (n *network) transport(own netip.AddrPort) *transport {
	t := &transport{
		network: n,
		own:     own,
		packets: make(chan *memberlist.Packet, 1024),
		streams: make(chan net.Conn, 64),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ends[own] = t
	return t
}

// addresses of everybody who is listening, as a headless Service would answer.
func (n *network) addresses() []netip.AddrPort {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []netip.AddrPort
	for a := range n.ends {
		all = append(all, a)
	}
	return all
}

// reach answers the receiving end, or nil when the packet is lost.
func (n *network) reach(from, to netip.AddrPort, loss float64) *transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.split(from, to) || n.random.Float64() < loss {
		return nil
	}
	return n.ends[to]
}

func (n *network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// transport is one member's connection to the network.
type transport struct {
	network *network
	own     netip.AddrPort
	packets chan *memberlist.Packet
	streams chan net.Conn
}

var _ memberlist.Transport = (*transport)(nil)

func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return t.own.Addr().AsSlice(), int(t.own.Port()), nil
}

func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, err
	}
	t.network.packets.Add(1)
	t.network.bytes.Add(int64(len(b)))
	packet := &memberlist.Packet{Buf: append([]byte(nil), b...), From: net.UDPAddrFromAddrPort(t.own)}
	if dest := t.network.reach(t.own, to, t.network.loss); dest != nil {
		time.AfterFunc(t.network.latency, func() {
			packet.Timestamp = time.Now()
			select {
			case dest.packets <- packet:
			default: // a full buffer loses packets
			}
		})
	}
	return time.Now(), nil
}

func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	dest := t.network.reach(t.own, to, 0)
	if dest == nil {
		time.Sleep(timeout)
		return nil, fmt.Errorf("dial %s: timeout", to)
	}
	near, far := net.Pipe()
	counted := &countedConn{Conn: near, network: t.network}
	select {
	case dest.streams <- &countedConn{Conn: far, network: t.network, remote: net.TCPAddrFromAddrPort(t.own)}:
		return counted, nil
	default:
		return nil, fmt.Errorf("dial %s: refused", to)
	}
}

func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

func (t *transport) Shutdown() error {
	t.network.mu.Lock()
	defer t.network.mu.Unlock()
	delete(t.network.ends, t.own)
	return nil
}

type countedConn struct {
	net.Conn
	network *network
	remote  net.Addr
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.network.bytes.Add(int64(len(b)))
	return c.Conn.Write(b)
}

func (c *countedConn) RemoteAddr() net.Addr {
	if c.remote != nil {
		return c.remote
	}
	return c.Conn.RemoteAddr()
}
