package gossip

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// prey is some real members on loopback, each at its own address.
type prey struct {
	t       *testing.T
	peers   []netip.AddrPort
	members []*member
	sockets []*sockets
	change  func(*Options)
}

// newPrey returns room for size members, which find each other by name.
func newPrey(t *testing.T, size int) *prey {
	p := &prey{t: t}
	for i := range size {
		s, err := listen(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)}), 0), everybody, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Shutdown() })
		p.sockets, p.peers = append(p.sockets, s), append(p.peers, s.own)
	}
	return p
}

// start begins the next one.
func (p *prey) start() *member {
	i := len(p.members)
	o := Options{
		Namespace: "prod", Cluster: "search", ClusterUID: "uid", Pod: fmt.Sprintf("search-%d", i), PodUID: uid(i),
		Address: p.peers[i], Keys: [][]byte{testKey}, Transport: p.sockets[i],
		Peers: func(context.Context) ([]netip.AddrPort, error) { return p.peers, nil },
	}
	if p.change != nil {
		p.change(&o)
	}
	mesh, err := New(o)
	require.NoError(p.t, err)
	m := &member{Mesh: mesh, address: p.peers[i], headline: &rollcallv1.Headline{Pod: o.Pod, PodUid: o.PodUID}}
	p.members = append(p.members, m)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mesh.Run(ctx) }()
	p.t.Cleanup(func() {
		cancel()
		require.NoError(p.t, <-ended)
	})
	require.Eventually(p.t, func() bool { return m.alive() > 0 }, 10*time.Second, 10*time.Millisecond)
	return m
}

func (m *member) refused(why reason) float64 {
	return testutil.ToFloat64(m.options.Metrics.refused.WithLabelValues(string(why)))
}

// labelled is what every stream begins with.
func (m *member) labelled() []byte {
	return append([]byte{messageLabel, byte(len(m.config.Label))}, m.config.Label...)
}

// call opens a stream from some loopback address.
func (m *member) call(from [4]byte) (net.Conn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4(from), 0)), Timeout: 10 * time.Second}
	return d.Dial("tcp4", m.address.String())
}

func sealed(version byte, plain, with []byte) []byte {
	block, _ := aes.NewCipher(testKey)
	gcm, _ := cipher.NewGCM(block)
	nonce := make([]byte, sealNonce)
	return gcm.Seal(append([]byte{version}, nonce...), nonce, plain, with)
}

// framed returns a message of a stream, encrypted with the key.
func (m *member) framed(version byte, plain []byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte{messageEncrypted}, uint32(len(plain)+sealOverhead))
	body := sealed(version, plain, append(bytes.Clone(head), m.config.Label...))
	return append(append(m.labelled(), head...), body...)
}

// packet returns an encrypted packet.
func (m *member) packet(version byte, plain []byte) []byte {
	return append(m.labelled(), sealed(version, plain, []byte(m.config.Label))...)
}

func packed(kind byte, values ...any) []byte {
	var b bytes.Buffer
	b.WriteByte(kind)
	for _, v := range values {
		if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// peak returns how much the heap grew at most, with a garbage collector as busy as that of an agent
// near its limit.
func peak(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, m.HeapAlloc
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return most - before
}

const mebi = 1 << 20

var garbage = make([]byte, 20*mebi)

// claims returns the start of a stream that claims a length for its message.
func (m *member) claims(size uint32) []byte {
	return binary.BigEndian.AppendUint32(append(m.labelled(), messageEncrypted), size)
}

// assaults are attacks that need no key. Each is one stream.
var assaults = map[string]func(m *member, conn net.Conn){
	"claims 20 MiB and sends them": func(m *member, conn net.Conn) {
		if _, err := conn.Write(m.claims(20*mebi - 1)); err == nil {
			_, _ = conn.Write(garbage)
		}
	},
	"claims the most and sends it": func(m *member, conn net.Conn) {
		if _, err := conn.Write(m.claims(maxState)); err == nil {
			_, _ = conn.Write(garbage[:maxState])
		}
	},
	"claims the most and holds it": func(m *member, conn net.Conn) {
		if _, err := conn.Write(m.claims(maxState)); err == nil {
			_, _ = conn.Write(garbage[:maxState-1])
		}
	},
	"claims and dribbles": func(m *member, conn net.Conn) {
		_, _ = conn.Write(m.claims(maxState))
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			if _, err := conn.Write([]byte{1}); err != nil {
				return
			}
		}
	},
	"says nothing":        func(*member, net.Conn) {},
	"says half a label":   func(m *member, conn net.Conn) { _, _ = conn.Write(m.labelled()[:5]) },
	"the label, and junk": func(m *member, conn net.Conn) { _, _ = conn.Write(append(m.labelled(), garbage[:9000]...)) },
}

// attack opens this many streams, from always different addresses, and waits until they are closed
// or have timed out.
func (m *member) attack(streams int, assault func(*member, net.Conn)) {
	var tasks sync.WaitGroup
	few := make(chan struct{}, 400)
	for i := range streams {
		few <- struct{}{}
		tasks.Go(func() {
			defer func() { <-few }()
			conn, err := m.call([4]byte{127, 9, byte(i / 250), byte(1 + i%250)})
			if err != nil {
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(2*time.Second + 500*time.Millisecond))
			assault(m, conn)
			_, _ = io.Copy(io.Discard, conn)
		})
	}
	tasks.Wait()
}

// TestStrangersCostLittle checks that without the key nobody can make an agent hold more than a few
// MiB, however many streams there are. Of the 3,000 streams 400 run at a time, so that each sends
// what it can.
func TestStrangersCostLittle(t *testing.T) {
	race.Heavy(t)
	m := newPrey(t, 1).start()
	try := func(streams int, name string) {
		t.Run(fmt.Sprint(streams, " ", name), func(t *testing.T) {
			before := m.strange()
			grew := peak(func() { m.attack(streams, assaults[name]) })
			t.Logf("%.1f MiB, counted %v", float64(grew)/mebi, m.strange()-before)
			require.Less(t, grew, uint64(16*mebi))
			require.Eventually(t, func() bool { return m.strange()-before >= 0.9*float64(streams) }, 10*time.Second, 10*time.Millisecond, "counted")
		})
	}
	try(3, "claims 20 MiB and sends them")
	require.EqualValues(t, 3, m.refused(reasonSize), "by what they claim")
	for name := range assaults {
		try(3000, name)
	}
}

// strange returns all refusals that were counted.
func (m *member) strange() float64 {
	n := m.rejected(reasonKey) + m.rejected(reasonLabel)
	for _, why := range refused {
		n += m.refused(why)
	}
	return n
}

// TestRingLivesUnderAttack checks that during an attack members find each other, exchange, and
// notice dead members.
func TestRingLivesUnderAttack(t *testing.T) {
	p := newPrey(t, 3)
	first := p.start()
	ctx, cancel := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	for _, assault := range assaults {
		tasks.Go(func() {
			for ctx.Err() == nil {
				first.attack(40, assault)
			}
		})
	}
	tasks.Go(func() { // packets, too
		conn, err := net.Dial("udp4", first.address.String())
		if err != nil {
			return
		}
		defer conn.Close()
		for ctx.Err() == nil {
			_, _ = conn.Write(append(first.labelled(), garbage[:1000]...))
			time.Sleep(time.Millisecond)
		}
	})
	time.Sleep(time.Second)
	start := time.Now()
	p.start()
	third := p.start()
	require.Eventually(t, func() bool {
		for _, m := range p.members {
			if m.alive() != 3 {
				return false
			}
		}
		return true
	}, 10*time.Second, 10*time.Millisecond)
	t.Logf("joined after %v", time.Since(start))
	roster, _ := first.Roster()
	require.True(t, roster.Synced)

	start = time.Now()
	require.NoError(t, p.sockets[2].Shutdown())
	require.Eventually(t, func() bool {
		e := first.sees(third.options.Pod)
		return e != nil && e.Liveness == rollcallv1.Liveness_LIVENESS_DEAD
	}, 20*time.Second, 10*time.Millisecond)
	t.Logf("dead after %v; refused: %v streams, %v bytes", time.Since(start), first.refused(reasonStreams), first.refused(reasonBytes))
	require.Positive(t, first.refused(reasonStreams))
	require.Positive(t, first.rejected(reasonKey))
}
