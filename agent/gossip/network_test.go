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

// What headers and handshakes cost, by IPv4 without options.
const (
	packetHeader  = 28   // IP and UDP
	segmentHeader = 52   // IP and TCP with timestamps
	segmentBytes  = 1448 // of data in one segment
	handshake     = 7    // segments that open and close a connection
	resend        = time.Second / 5
	resendOpening = time.Second // a lost first segment is sent again after that
)

// network is a small lossy one in memory, made for virtual time: nothing in it
// ever blocks a sender of packets, also not when the receiver has stopped.
type network struct {
	mu     sync.Mutex
	random *rand.Rand
	ends   map[netip.AddrPort]*transport
	loss   float64 // of packets; what is lost of a stream comes late
	// split reports whether nothing gets from a to b.
	split   func(a, b netip.AddrPort) bool
	latency time.Duration

	wire atomic.Int64 // bytes that were sent, headers included
}

func newNetwork(seed uint64) *network {
	return &network{
		random:  rand.New(rand.NewPCG(seed, 1)),
		ends:    map[netip.AddrPort]*transport{},
		split:   func(a, b netip.AddrPort) bool { return false },
		latency: 2 * time.Millisecond,
	}
}

// transport joins the network, in place of any member that had the address.
func (n *network) transport(own netip.AddrPort) *transport {
	t := &transport{
		network: n,
		own:     own,
		packets: make(chan *memberlist.Packet, 1024),
		streams: make(chan net.Conn, 64),
	}
	n.set(func() { n.ends[own] = t })
	return t
}

// addresses returns the addresses of everybody who is listening, as a headless Service would
// answer.
func (n *network) addresses() []netip.AddrPort {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []netip.AddrPort
	for a := range n.ends {
		all = append(all, a)
	}
	return all
}

// reach returns the receiving end, or nil when nothing gets there.
func (n *network) reach(from *transport, to netip.AddrPort) *transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ends[from.own] != from || n.split(from.own, to) {
		return nil
	}
	return n.ends[to]
}

// lost reports whether the next packet is.
func (n *network) lost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.random.Float64() < n.loss
}

// lostEitherWay reports whether the next packet or its answer is.
func (n *network) lostEitherWay() bool {
	there, back := n.lost(), n.lost()
	return there || back
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
	t.network.wire.Add(int64(len(b)) + packetHeader)
	packet := &memberlist.Packet{Buf: append([]byte(nil), b...), From: net.UDPAddrFromAddrPort(t.own)}
	if dest := t.network.reach(t, to); dest != nil && !t.network.lost() {
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
	took := 2 * t.network.latency
	for again := resendOpening; t.network.lostEitherWay(); again *= 2 {
		took += again
	}
	dest := t.network.reach(t, to)
	if dest == nil || took > timeout {
		time.Sleep(timeout)
		return nil, fmt.Errorf("dial %s: timeout", to)
	}
	time.Sleep(took)
	t.network.wire.Add(handshake * segmentHeader)
	near, far := net.Pipe()
	select {
	case dest.streams <- &stream{Conn: far, from: dest, to: t.own}:
		return &stream{Conn: near, from: t, to: to}, nil
	default:
		return nil, fmt.Errorf("dial %s: refused", to)
	}
}

func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

func (t *transport) Shutdown() error {
	t.unplug()
	return nil
}

// unplug removes the member from the network, whatever it still sends.
func (t *transport) unplug() {
	t.network.set(func() {
		if t.network.ends[t.own] == t {
			delete(t.network.ends, t.own)
		}
	})
}

// stream is one end of a connection.
type stream struct {
	net.Conn
	from *transport
	to   netip.AddrPort
}

func (s *stream) Write(b []byte) (int, error) {
	network := s.from.network
	segments := 1 + len(b)/segmentBytes
	network.wire.Add(int64(len(b) + segments*segmentHeader))
	took := network.latency
	for range segments {
		if network.lost() {
			took += resend
		}
	}
	time.Sleep(took)
	if network.reach(s.from, s.to) == nil {
		return len(b), nil // it waits in a buffer for ever
	}
	return s.Conn.Write(b)
}

func (s *stream) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(s.to) }
