package gossip

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"golang.org/x/time/rate"
)

const (
	// openingTimeout is for the label and the length, which members send at once; it
	// lets a lost segment be sent again, twice.
	openingTimeout = 2 * time.Second

	lengthHeader = 5  // type and length of an encrypted message
	sealVersion  = 1  // of memberlist's two: it panics at a wrong padding of the other
	sealNonce    = 12 // bytes behind the version
	sealOverhead = 1 + sealNonce + 16
	firstRead    = 4 << 10
)

// gate is between the network and memberlist. It lets through only what has the label and the key
// and what agents send: memberlist buffers up to 20 MiB of each stream before it checks the key,
// and trusts every holder of it.
type gate struct {
	memberlist.Transport
	label  []byte
	keys   func() [][]byte // nil without encryption
	knows  func(netip.Addr) bool
	near   func(netip.Addr) bool // strangers from there go before others
	refuse func(why reason, from string)

	places places
	// indirect limits the indirect pings that others ask of this agent: memberlist keeps a
	// goroutine and two timers for each.
	indirect *rate.Limiter
	opening  sync.Mutex // one long message is decrypted at a time
	packets  chan *memberlist.Packet
	streams  chan net.Conn
	closing  context.Context
	end      context.CancelFunc
	tasks    sync.WaitGroup
}

func newGate(network memberlist.Transport, label string, keys func() [][]byte, knows, near func(netip.Addr) bool, refuse func(reason, string)) *gate {
	g := &gate{Transport: network, label: append([]byte{messageLabel, byte(len(label))}, label...), keys: keys, knows: knows, near: near, refuse: refuse,
		packets: make(chan *memberlist.Packet), streams: make(chan net.Conn), indirect: rate.NewLimiter(200, 400)}
	g.closing, g.end = context.WithCancel(context.Background())
	g.tasks.Go(g.takePackets)
	g.tasks.Go(g.takeStreams)
	return g
}

func (g *gate) PacketCh() <-chan *memberlist.Packet { return g.packets }
func (g *gate) StreamCh() <-chan net.Conn           { return g.streams }

func (g *gate) Shutdown() error {
	g.end()
	err := g.Transport.Shutdown()
	g.tasks.Wait()
	return err
}

func (g *gate) takePackets() {
	for {
		select {
		case packet := <-g.Transport.PacketCh():
			if why := g.checkPacket(packet.Buf); why != "" {
				g.refuse(why, packet.From.String())
				continue
			}
			select {
			case g.packets <- packet:
			case <-g.closing.Done():
				return
			}
		case <-g.closing.Done():
			return
		}
	}
}

// checkPacket returns why a packet is refused, or "".
func (g *gate) checkPacket(b []byte) reason {
	switch body, ok := bytes.CutPrefix(b, g.label); {
	case len(b) > maxMessage:
		return reasonSize
	case !ok:
		return reasonLabel
	case g.keys == nil:
		return checkPacket(body)
	default:
		plain, ok := unseal(g.keys(), body, g.label[2:])
		if !ok {
			return reasonKey
		}
		if why := checkPacket(plain); why != "" {
			return why
		}
		if n := indirectPings(plain); n > 0 && !g.indirect.AllowN(time.Now(), n) { // too many at once
			return reasonStreams
		}
		return ""
	}
}

func (g *gate) takeStreams() {
	for {
		select {
		case conn := <-g.Transport.StreamCh():
			from := remoteOf(conn)
			place := g.enter(conn, from)
			if place == nil {
				g.refuse(reasonStreams, from.String()) // counted before the caller sees it
				_ = conn.Close()
				continue
			}
			g.tasks.Go(func() { g.admit(conn, place) })
		case <-g.closing.Done():
			return
		}
	}
}

// enter returns nil when there is no place for a stream.
func (g *gate) enter(conn net.Conn, from netip.Addr) *place {
	switch {
	case g.knows(from):
		return g.places.take(known, from)
	case g.near(from):
		return g.places.take(stranger, from)
	default:
		return g.places.takeFar(from, func() { _ = conn.Close() })
	}
}

// admit passes a stream to memberlist once its message is complete and is one of an agent.
func (g *gate) admit(conn net.Conn, place *place) {
	stop := context.AfterFunc(g.closing, func() { _ = conn.Close() })
	defer stop()
	s := &incoming{Conn: conn, gate: g, place: place, label: g.label, deadlines: true}
	if why := s.receive(); why != "" {
		if why != reasonNothing && g.closing.Err() == nil {
			g.refuse(why, remoteOf(conn).String())
		}
		_ = s.Close()
		return
	}
	place.stay()
	select {
	case g.streams <- s:
	case <-g.closing.Done():
		_ = s.Close()
	}
}

// DialTimeout connects to a member, and bounds what the other side answers.
func (g *gate) DialTimeout(to string, timeout time.Duration) (net.Conn, error) {
	address, err := netip.ParseAddrPort(to)
	if err != nil {
		return nil, err
	}
	place := g.places.take(called, address.Addr().Unmap())
	if place == nil {
		return nil, errors.New("too many calls at once")
	}
	conn, err := g.Transport.DialTimeout(to, timeout)
	if err != nil {
		place.free()
		return nil, err
	}
	return &incoming{Conn: conn, gate: g, place: place}, nil
}

// errRefused is the error that memberlist gets instead of a refused answer.
type errRefused struct{ reason reason }

func (e errRefused) Error() string { return "refused: " + string(e.reason) }

// incoming is a stream of which one message is read and checked before memberlist reads any of it.
// Nothing after that message is read.
type incoming struct {
	net.Conn
	gate  *gate
	place *place
	label []byte // that it begins with; an answer begins with none
	// deadlines are set here, not by memberlist.
	deadlines bool

	received bool
	message  []byte // what memberlist has not read yet
	came     int    // bytes, without encryption
	close    sync.Once
}

func (s *incoming) Read(b []byte) (int, error) {
	if !s.received {
		if why := s.receive(); why == reasonNothing || why == reasonUnfinished {
			return 0, io.ErrUnexpectedEOF // also when memberlist's own deadline is over
		} else if why != "" {
			s.gate.refuse(why, remoteOf(s.Conn).String())
			return 0, errRefused{why}
		}
	}
	if len(s.message) == 0 {
		s.message = nil
		if s.gate.keys != nil {
			return 0, io.EOF
		}
		return s.unframed(b)
	}
	n := copy(b, s.message)
	s.message = s.message[n:]
	return n, nil
}

// unframed reads on without encryption, where nothing says where a message ends.
func (s *incoming) unframed(b []byte) (int, error) {
	if s.came >= maxState || !s.place.hold(s.came) {
		s.gate.refuse(reasonBytes, remoteOf(s.Conn).String())
		return 0, errRefused{reasonBytes}
	}
	n, err := s.Conn.Read(b)
	s.came += n
	return n, err
}

func (s *incoming) Close() error {
	s.close.Do(s.place.free)
	return s.Conn.Close()
}

// receive returns why the message is refused, or "" if it is complete.
func (s *incoming) receive() reason {
	s.received = true
	start := time.Now()
	if s.deadlines {
		_ = s.SetReadDeadline(start.Add(openingTimeout))
	}
	b := make([]byte, len(s.label), len(s.label)+lengthHeader)
	switch n, err := io.ReadFull(s.Conn, b); {
	case n == 0 && errors.Is(err, io.EOF):
		return reasonNothing
	case err != nil:
		return reasonUnfinished
	case !bytes.Equal(b, s.label):
		return reasonLabel
	}
	if s.gate.keys == nil {
		s.message = b
		return ""
	}
	b = b[:cap(b)]
	if _, err := io.ReadFull(s.Conn, b[len(s.label):]); err != nil {
		return reasonUnfinished
	}
	header := b[len(s.label):]
	size := binary.BigEndian.Uint32(header[1:])
	switch {
	case header[0] != messageEncrypted:
		return reasonKey
	case size <= sealOverhead || size > maxState:
		return reasonSize
	}
	if s.deadlines {
		_ = s.SetReadDeadline(start.Add(streamTimeout))
	}
	b, why := s.fill(b, len(b)+int(size))
	if why != "" {
		return why
	}
	if why := s.gate.checkMessage(b[len(s.label):]); why != "" {
		return why
	}
	s.message = b
	return ""
}

// fill reads until there are size bytes. Its buffer grows with what has arrived.
func (s *incoming) fill(b []byte, size int) ([]byte, reason) {
	for len(b) < size {
		if len(b) == cap(b) {
			room := min(max(2*cap(b), firstRead), size)
			if !s.place.hold(room) {
				return nil, reasonBytes
			}
			b = append(make([]byte, 0, room), b...)
		}
		n, err := s.Conn.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err != nil && len(b) < size {
			return nil, reasonUnfinished
		}
	}
	return b, ""
}

// checkMessage checks a whole encrypted message with its header.
func (g *gate) checkMessage(b []byte) reason {
	if len(b) > freeBytes {
		g.opening.Lock()
		defer g.opening.Unlock()
	}
	plain, ok := unseal(g.keys(), b[lengthHeader:], append(bytes.Clone(b[:lengthHeader]), g.label[2:]...))
	if !ok {
		return reasonKey
	}
	return checkStream(plain)
}

// unseal decrypts as memberlist does, with whichever key fits.
func unseal(keys [][]byte, sealed, with []byte) ([]byte, bool) {
	if len(sealed) < sealOverhead || sealed[0] != sealVersion {
		return nil, false
	}
	plain := make([]byte, 0, len(sealed))
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			continue
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			continue
		}
		if out, err := gcm.Open(plain, sealed[1:1+sealNonce], sealed[1+sealNonce:], with); err == nil {
			return out, true
		}
	}
	return nil, false
}

func remoteOf(conn net.Conn) netip.Addr {
	if from, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return from.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
