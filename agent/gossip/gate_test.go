package gossip

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// TestKnownDoNotWaitForStrangers checks that strangers can take only their own places and bytes:
// known peers, and the answers to this agent's own calls, have others.
func TestKnownDoNotWaitForStrangers(t *testing.T) {
	var p places
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}) }
	fill := func(c class) (taken []*place) {
		for i := range 100 {
			for one := p.take(c, at(i)); one != nil; one = p.take(c, at(i)) {
				taken = append(taken, one)
			}
		}
		return taken
	}
	var all [classes][]*place
	for c := range classes {
		first := p.take(c, at(200))
		require.NotNil(t, first)
		require.True(t, first.hold(maxState), "a full roster")
		require.False(t, first.hold(maxState+freeBytes+1), "no more than that")
		all[c] = append(fill(c), first)
		require.Len(t, all[c], limits[c].streams)
		held := 0
		for _, one := range all[c] {
			require.True(t, one.hold(freeBytes), "short messages are always taken")
			if one != first && one.hold(freeBytes+maxState/2) {
				held++
			}
		}
		require.LessOrEqual(t, p.all[c].bytes, limits[c].bytes)
	}
	for c := range classes {
		for _, one := range all[c] {
			one.free()
		}
		require.Zero(t, p.all[c])
	}
	require.Empty(t, p.at)

	one := at(1)
	for range limits[stranger].perAddress {
		require.NotNil(t, p.take(stranger, one))
	}
	require.Nil(t, p.take(stranger, one), "of one address few")
	require.NotNil(t, p.take(stranger, at(2)))
}

// said is a connection on which the peer has sent all that it sends.
type said struct {
	net.Conn
	io.Reader
}

func (s said) Read(b []byte) (int, error)    { return s.Reader.Read(b) }
func (said) SetReadDeadline(time.Time) error { return nil }
func (said) Close() error                    { return nil }
func (said) RemoteAddr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)} }

// allocated returns what do allocates, by the try in which others allocate least.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	least := uint64(math.MaxUint64)
	for range 5 {
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		if least = min(least, after.TotalAlloc-before.TotalAlloc); least < 8<<10 {
			break
		}
	}
	return least
}

func testGate() *gate {
	label := "12345678"
	return &gate{
		label:    append([]byte{messageLabel, byte(len(label))}, label...),
		keys:     func() [][]byte { return [][]byte{bytes.Repeat([]byte{9}, 32), testKey} },
		refuse:   func(reason, string) {},
		indirect: rate.NewLimiter(rate.Inf, 1),
	}
}

func (g *gate) seal(plain []byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte{messageEncrypted}, uint32(len(plain)+sealOverhead))
	body := sealed(sealVersion, plain, append(bytes.Clone(head), g.label[2:]...))
	return append(append(bytes.Clone(g.label), head...), body...)
}

// TestClaimsCostNothing checks that a claimed length costs nothing.
func TestClaimsCostNothing(t *testing.T) {
	g := testGate()
	claim := append(bytes.Clone(g.label), messageEncrypted, 0, 0x1f, 0xff, 0xff, 1)
	require.Less(t, allocated(func() {
		s := &incoming{Conn: said{Reader: bytes.NewReader(claim)}, gate: g, place: g.places.take(stranger, netip.Addr{}), label: g.label}
		require.Equal(t, reasonUnfinished, s.receive())
		require.NoError(t, s.Close())
	}), uint64(64<<10))
}

// FuzzStream checks that allocations grow with what has arrived, whatever length it claims.
func FuzzStream(f *testing.F) {
	g := testGate()
	f.Add([]byte{})
	f.Add(g.label)
	f.Add(append(bytes.Clone(g.label), messageEncrypted, 0, 0x1f, 0xff, 0xff, 1))
	f.Add(append(bytes.Clone(g.label), messageEncrypted, 0xff, 0xff, 0xff, 0xff, 1))
	f.Add(g.seal(packed(messagePing, pingBody{SeqNo: 1})))
	f.Add(g.seal(append(packed(messageExchange, exchangeHeader{UserStateLen: 1}), 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		used := allocated(func() {
			place := g.places.take(stranger, netip.Addr{})
			s := &incoming{Conn: said{Reader: bytes.NewReader(b)}, gate: g, place: place, label: g.label}
			why := s.receive()
			if why == "" {
				size := int(binary.BigEndian.Uint32(b[len(g.label)+1:]))
				require.Equal(t, b[:len(g.label)+lengthHeader+size], s.message)
			}
			require.NoError(t, s.Close())
		})
		require.Less(t, used, uint64(64<<10+8*len(b)))
		require.Zero(t, g.places.all)
	})
}

// FuzzMessage checks that memberlist decodes what passes with memory that grows with its size.
func FuzzMessage(f *testing.F) {
	f.Add(packed(messagePing, pingBody{SeqNo: 1 << 31, Node: "x"}))
	f.Add(packed(messageExchange, exchangeHeader{Nodes: 1}, nodeState{Name: "x", Addr: []byte{1, 2, 3, 4}, Vsn: versions}))
	f.Add(packed(messageExchange, exchangeHeader{Nodes: 1 << 20}))
	f.Add(compound(packed(messagePing, pingBody{}), packed(messageDead, pingBody{Node: "x"})))
	f.Add(compressed(make([]byte, 100)))
	f.Add([]byte{messageChecksum, 0, 0, 0, 0, messagePing, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		var stream reason
		used := allocated(func() { stream, _ = checkStream(b), checkPacket(b) })
		require.Less(t, used, uint64(16<<10))
		if stream != "" || b[0] != messageExchange {
			return
		}
		used = allocated(func() {
			r := bytes.NewReader(b[1:])
			dec := codec.NewDecoder(r, &codec.MsgpackHandle{})
			var h exchangeHeader
			if dec.Decode(&h) != nil {
				return
			}
			require.LessOrEqual(t, h.Nodes, maxNodes)
			require.LessOrEqual(t, h.UserStateLen, maxUserState)
			nodes := make([]nodeState, max(h.Nodes, 0))
			for i := range nodes {
				if dec.Decode(&nodes[i]) != nil {
					return
				}
			}
		})
		require.Less(t, used, uint64(64<<10+32*len(b)))
	})
}

// TestPlacesAreGivenBack checks that a call without an answer, and a stream that nobody reads, free
// their places.
func TestPlacesAreGivenBack(t *testing.T) {
	one, other := sockets2(t, "127.0.0.1")
	g := newGate(one, "12345678", func() [][]byte { return [][]byte{testKey} }, func(netip.Addr) bool { return false }, everybody, func(reason, string) {})
	conn, err := g.DialTimeout(other.own.String(), time.Second)
	require.NoError(t, err)
	require.Equal(t, 1, g.places.all[called].streams)
	require.NoError(t, conn.Close())
	_ = conn.Close()
	require.NoError(t, other.Shutdown())
	_, err = g.DialTimeout(other.own.String(), time.Second)
	require.Error(t, err)
	require.Zero(t, g.places.all[called])

	caller, err := net.Dial("tcp", one.own.String())
	require.NoError(t, err)
	defer caller.Close()
	_, err = caller.Write(g.seal(packed(messagePing, pingBody{})))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		g.places.mu.Lock()
		defer g.places.mu.Unlock()
		return g.places.all[stranger].streams == 1
	}, 5*time.Second, time.Millisecond)
	require.NoError(t, g.Shutdown())
	require.Zero(t, g.places.all)
}

// TestInsecureStreamsAreBounded checks that streams are bounded without encryption too.
func TestInsecureStreamsAreBounded(t *testing.T) {
	one, _ := sockets2(t, "127.0.0.1")
	refusals := make(chan reason, 10)
	g := newGate(one, "12345678", nil, func(netip.Addr) bool { return false }, everybody, func(why reason, _ string) { refusals <- why })
	defer func() { require.NoError(t, g.Shutdown()) }()
	caller, err := net.Dial("tcp", one.own.String())
	require.NoError(t, err)
	defer caller.Close()
	go func() { _, _ = caller.Write(append(bytes.Clone(g.label), garbage...)) }()
	conn := <-g.StreamCh()
	defer conn.Close()
	n, err := io.Copy(io.Discard, conn)
	require.ErrorContains(t, err, string(reasonBytes))
	require.Less(t, n, int64(maxState+1*mebi))
	require.Equal(t, reasonBytes, <-refusals)
}

// TestMembersGoFirst checks that members do not wait when strangers have taken all their places.
func TestMembersGoFirst(t *testing.T) {
	p := newPrey(t, 2)
	require.NoError(t, p.sockets[1].Shutdown()) // named, and not there
	m := p.start()
	require.Eventually(t, func() bool { return m.table.knows(p.peers[1].Addr()) }, 5*time.Second, time.Millisecond)
	call := func(from [4]byte) net.Conn {
		conn, err := m.call(from)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(openingTimeout / 2))
		return conn
	}
	for i := range limits[stranger].streams {
		call([4]byte{127, 9, 1, byte(i + 1)})
	}
	ping := m.framed(sealVersion, packed(messagePing, pingBody{SeqNo: 1}))
	late := call([4]byte{127, 9, 2, 1})
	_, _ = late.Write(ping)
	n, _ := late.Read(make([]byte, 100))
	require.Zero(t, n)
	require.EqualValues(t, 1, m.refused(reasonStreams))
	known := call(p.peers[1].Addr().As4())
	_, err := known.Write(ping)
	require.NoError(t, err)
	n, err = known.Read(make([]byte, 100))
	require.NoError(t, err)
	require.Positive(t, n, "an answer")
}

// TestStrangersFromElsewhereMakeRoom checks that strangers from outside the pods' networks that
// have not shown the key make room for strangers from there, so that a pod that joins, and is not
// known yet, finds a place.
func TestStrangersFromElsewhereMakeRoom(t *testing.T) {
	var p places
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}) }
	var ended []int
	var far []*place
	for i := range limits[stranger].streams {
		far = append(far, p.takeFar(at(i), func() { ended = append(ended, i) }))
		require.NotNil(t, far[i], "without others he is a stranger like any")
	}
	require.Nil(t, p.takeFar(at(100), func() {}), "and no more than any")
	far[0].stay()
	one := p.take(stranger, at(101))
	require.NotNil(t, one)
	require.Equal(t, []int{1}, ended, "the oldest that has not shown the key")
	far[1].free()
	require.False(t, far[1].hold(freeBytes+1), "it has no place any more")
	require.Equal(t, limits[stranger].streams, p.all[stranger].streams, "and gives it back once only")

	require.True(t, far[5].hold(maxState))
	require.True(t, one.hold(maxState), "a full roster")
	require.Equal(t, []int{1, 5}, ended, "the one that holds what is wanted")
	require.False(t, far[6].hold(maxState), "not the other way")

	for i := range limits[stranger].streams {
		_ = p.take(stranger, at(102+i))
	}
	require.Len(t, ended, limits[stranger].streams-1, "whoever has shown the key stays")
	require.Empty(t, p.far)
	require.Equal(t, limits[stranger].streams, p.all[stranger].streams)
}

// TestPodsOfNewNetworksAreHeard checks that a new pod is heard at once even if strangers from
// elsewhere have taken all places. A pod on a new node, in a network that is not known yet, is
// heard at once if they have not, and otherwise once the Service names it.
func TestPodsOfNewNetworksAreHeard(t *testing.T) {
	p := newPrey(t, 2)
	require.NoError(t, p.sockets[1].Shutdown()) // it is there later
	p.change = func(o *Options) {
		o.Near = netip.MustParsePrefix("127.0.0.0/16").Contains
		o.Peers = func(context.Context) ([]netip.AddrPort, error) { return p.peers[:1], nil }
	}
	m := p.start()
	ping := m.framed(sealVersion, packed(messagePing, pingBody{SeqNo: 1}))
	answered := func(from [4]byte) bool {
		conn, err := m.call(from)
		require.NoError(t, err)
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(openingTimeout / 2))
		if _, err := conn.Write(ping); err != nil {
			return false
		}
		n, _ := conn.Read(make([]byte, 100))
		return n > 0
	}
	inside, elsewhere := [4]byte{127, 0, 7, 7}, [4]byte{127, 8, 7, 7}
	require.True(t, answered(inside))
	require.True(t, answered(elsewhere), "nobody is in its way")

	for i := range limits[stranger].streams {
		conn, err := m.call([4]byte{127, 9, 1, byte(i + 1)})
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	require.False(t, answered(elsewhere))
	require.True(t, answered(inside), "one of the strangers has made room")
	require.EqualValues(t, 1, m.refused(reasonStreams))
	m.table.setNamed([]netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4(elsewhere), 7946)})
	require.True(t, answered(elsewhere), "the Service names it, coordinator or not")
}

// TestSlowStreamsEnd checks that slow streams end: after 2 s without label and length, and after 5
// s in all.
func TestSlowStreamsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		claims bool
		after  time.Duration
	}{
		"silent":   {false, openingTimeout},
		"dribbles": {true, streamTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, newNetwork(3))
				defer r.stop()
				m := r.add(0, func(o *Options) {
					o.Peers = func(context.Context) ([]netip.AddrPort, error) { return []netip.AddrPort{address(0)}, nil }
				})
				conn, err := r.network.transport(address(9)).DialTimeout(m.address.String(), time.Second)
				require.NoError(t, err)
				defer conn.Close()
				start := time.Now()
				require.NoError(t, conn.SetDeadline(start.Add(4*streamTimeout)))
				if c.claims {
					_, err = conn.Write(m.claims(maxState))
					require.NoError(t, err)
					for err == nil {
						time.Sleep(100 * time.Millisecond)
						_, err = conn.Write([]byte{1})
					}
				} else {
					_, err = conn.Read(make([]byte, 1))
				}
				require.Error(t, err)
				require.InDelta(t, c.after.Seconds(), time.Since(start).Seconds(), 0.5)
				require.EqualValues(t, 1, m.refused(reasonUnfinished))
			})
		})
	}
}
