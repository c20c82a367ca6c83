package door

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why a connection was ended, in the label reason.
const (
	reasonAll   = "all"   // the strangers' room is full
	reasonPeer  = "peer"  // the room of one address is full
	reasonKnown = "known" // the room of the known is full
)

// Limits are the limits of one listener.
type Limits struct {
	// Strangers is how many connections of strangers there may be, and PerPeer how
	// many of one address.
	Strangers, PerPeer int
	// Known is how many connections of known peers there may be.
	Known int
	// Local means that whoever comes by a forwarded port is known.
	Local bool
	// Grace is how long a new stranger is not ended, so that what it sends at once
	// is read, however many connect at the same time. Meanwhile there may be lobby
	// more of them; then the next one waits.
	Grace time.Duration
}

// lobby is how many new connections there may be beyond the limits.
const lobby = 128

// Doors are all listeners of a program.
type Doors struct {
	refused *prometheus.CounterVec
	logger  *slog.Logger
	// Lately remembers ended connections for people. Nil means that nothing does.
	Lately *Refusals
}

// New returns the doors of a program. The counter has the labels listener and
// reason.
func New(refused *prometheus.CounterVec, logger *slog.Logger) *Doors {
	return &Doors{refused: refused, logger: logger}
}

// Limit bounds a listener.
func (d *Doors) Limit(name string, inner net.Listener, limits Limits) net.Listener {
	for _, reason := range []string{reasonAll, reasonPeer, reasonKnown} {
		d.refused.WithLabelValues(name, reason)
	}
	return &listener{Listener: inner, name: name, limits: limits, doors: d, quiet: NewQuiet(), conns: map[*conn]bool{}}
}

type listener struct {
	net.Listener
	name   string
	limits Limits
	doors  *Doors
	quiet  *Quiet

	clock atomic.Int64 // counts reads
	mu    sync.Mutex
	conns map[*conn]bool
	again *time.Timer // fires when the grace of some is over
}

// conn is a connection of a listener, which guards peer and known.
type conn struct {
	net.Conn
	listener *listener
	peer     netip.Prefix
	known    bool
	came     time.Time
	heard    atomic.Int64 // when it was last read from, by the listener's clock
	served   atomic.Int64 // when it last carried a good request; 0 means never
}

// Accept waits only for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	peer := peerOf(raw.RemoteAddr())
	c := &conn{Conn: raw, listener: l, peer: peer, came: time.Now(), known: l.limits.Local && Forwarded(peer.Addr())}
	c.heard.Store(l.clock.Add(1))
	l.mu.Lock()
	crowded := l.admit(c)
	full := l.full()
	l.mu.Unlock()
	switch {
	case crowded && full:
		time.Sleep(l.limits.Grace)
	case crowded:
		runtime.Gosched() // let those who are in be read before more are let in
	}
	return c, nil
}

// admit makes room for c and takes it in. It returns whether there are too many new
// connections.
func (l *listener) admit(c *conn) (crowded bool) {
	held := 0
	for other := range l.conns {
		if other.known && c.known {
			held++
		}
	}
	if c.known && held >= l.limits.Known {
		// The peer with most connections, including the new one, makes room; else a peer that
		// connects again and again would end the silent ones. Connections marked by Served are
		// ended last: others may come from any number of addresses.
		among := func(o *conn) bool { return o.known && o.served.Load() == 0 }
		if l.silent(among) == nil {
			among = func(o *conn) bool { return o.known }
		}
		most := l.mostOf(c, among)
		l.end(l.silent(func(o *conn) bool { return among(o) && o.peer == most }), reasonKnown)
	}
	l.conns[c] = true
	return !c.known && l.trim(c)
}

// trim ends strangers if there are too many, but not the newest. It returns whether
// new ones are left.
func (l *listener) trim(newest *conn) (crowded bool) {
	for {
		c, reason := l.surplus(newest)
		if c == nil {
			return false
		}
		if left := l.limits.Grace - time.Since(c.came); left > 0 && (reason == reasonAll || !l.full()) {
			if l.again == nil {
				l.again = time.AfterFunc(left, func() {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.again = nil
					l.trim(nil)
				})
			}
			return true
		}
		l.end(c, reason)
	}
}

// full reports whether no more connections can have their grace. Then an address with too many
// connections loses some; with many addresses, the next connection waits.
func (l *listener) full() bool {
	return len(l.conns) > l.limits.Strangers+l.limits.Known+lobby
}

// surplus returns a stranger that must make room, and why.
func (l *listener) surplus(newest *conn) (*conn, string) {
	held, counts := 0, map[netip.Prefix]int{}
	for c := range l.conns {
		if !c.known {
			held++
			counts[c.peer]++
		}
	}
	others := func(c *conn) bool { return !c.known && c != newest }
	for peer, n := range counts {
		if n > l.limits.PerPeer {
			return l.least(func(c *conn) bool { return others(c) && c.peer == peer }), reasonPeer
		}
	}
	if held > l.limits.Strangers {
		if newest != nil {
			counts[newest.peer]-- // it is not among those that make room
		}
		most := 0
		for _, n := range counts {
			most = max(most, n)
		}
		peer := l.least(func(c *conn) bool { return others(c) && counts[c.peer] == most }).peer
		return l.least(func(c *conn) bool { return others(c) && c.peer == peer }), reasonAll
	}
	return nil, ""
}

// silent returns the connection that has been silent for longest.
func (l *listener) silent(among func(*conn) bool) (found *conn) {
	for c := range l.conns {
		if among(c) && (found == nil || c.heard.Load() < found.heard.Load()) {
			found = c
		}
	}
	return found
}

// least is silent, but spares connections that have carried a good request recently.
// It spares at most half of what one address may have: whoever sends good requests
// must leave room for newcomers.
func (l *listener) least(among func(*conn) bool) *conn {
	spared := map[*conn]bool{}
	served := map[netip.Prefix][]*conn{}
	for c := range l.conns {
		if !c.known && c.served.Load() > 0 {
			served[c.peer] = append(served[c.peer], c)
		}
	}
	for _, of := range served {
		slices.SortFunc(of, func(a, b *conn) int { return cmp.Compare(b.served.Load(), a.served.Load()) })
		for _, c := range of[:min(len(of), l.limits.PerPeer/2)] {
			spared[c] = true
		}
	}
	if found := l.silent(func(c *conn) bool { return among(c) && !spared[c] }); found != nil {
		return found
	}
	return l.silent(among)
}

// mostOf returns the peer with most connections among some, counting one more that
// comes. Among equals that is the newcomer's own, if it has others, and then the one
// whose connection has been silent for longest.
func (l *listener) mostOf(next *conn, among func(*conn) bool) netip.Prefix {
	counts := map[netip.Prefix]int{}
	most := 0
	for c := range l.conns {
		if among(c) {
			counts[c.peer]++
			most = max(most, counts[c.peer])
		}
	}
	if counts[next.peer] > 0 && counts[next.peer]+1 >= most {
		return next.peer
	}
	return l.silent(func(c *conn) bool { return among(c) && counts[c.peer] == most }).peer
}

func (l *listener) end(c *conn, reason string) {
	delete(l.conns, c)
	l.doors.refused.WithLabelValues(l.name, reason).Inc()
	l.doors.Lately.Note("connections: "+l.name, c.RemoteAddr().String())
	// In the background: Close waits for a write in progress.
	go func() { _ = c.Conn.Close() }()
	if l.quiet.Due(reason) {
		l.doors.logger.Warn("connections are ended to make room for others; further ones of the next minute are only counted",
			"listener", l.name, "reason", reason, "from", c.RemoteAddr().String())
	}
}

// Read notes that the peer has sent something.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(c.listener.clock.Add(1))
	}
	return n, err
}

// Close gives the room back.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// keep marks a connection as known.
func (c *conn) keep() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.known || !l.conns[c] {
		return
	}
	delete(l.conns, c)
	c.known = true
	l.admit(c)
}

// KeepConn marks a connection, or the one below TLS, as known: the peer was
// authenticated.
func KeepConn(c net.Conn) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if own, ok := c.(*conn); ok {
		own.keep()
	}
}

type connKey struct{}

// ConnContext is for http.Server, so that Keep finds the connection of a request.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Keep is KeepConn for the connection of a request.
func Keep(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(net.Conn); ok {
		KeepConn(c)
	}
}

// Served notes that the connection of a request has carried a good one. A peer that
// only connects has not.
func Served(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(net.Conn); ok {
		ServedConn(c)
	}
}

// ServedConn is Served for a connection, or that below TLS.
func ServedConn(c net.Conn) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if own, ok := c.(*conn); ok {
		own.served.Store(own.listener.clock.Add(1))
	}
}

// Forwarded reports whether somebody comes by a forwarded port, and so is known to
// the API server: kubelets dial from these two addresses. Other loopback addresses
// may be anybody's: 127.0.0.6 is whoever the sidecar of a service mesh lets in.
func Forwarded(address netip.Addr) bool {
	address = address.Unmap()
	return address == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || address == netip.IPv6Loopback()
}

// Peer returns the owner of an address: the address itself, or with IPv6 its /64 network, which one
// machine usually has as a whole.
func Peer(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() && !address.IsLoopback() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits)
	return prefix
}

func peerOf(address net.Addr) netip.Prefix {
	if address == nil {
		return netip.Prefix{}
	}
	where, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Prefix{}
	}
	return Peer(where.Addr())
}
