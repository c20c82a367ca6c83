package gossip

import (
	"bytes"
	"compress/lzw"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// What memberlist sends, by its own names.
type (
	exchangeHeader struct {
		Nodes, UserStateLen int
		Join                bool
	}
	nodeState struct {
		Name        string
		Addr        []byte
		Port        uint16
		Meta        []byte
		Incarnation uint32
		State       int
		Vsn         []byte
	}
	aliveState struct {
		Incarnation uint32
		Node        string
		Addr        []byte
		Port        uint16
		Meta        []byte
		Vsn         []byte
	}
	compressedBody struct {
		Algo int
		Buf  []byte
	}
	pingBody struct {
		SeqNo uint32
		Node  string
	}
)

var versions = []byte{1, 5, 2, 0, 0, 0}

func compressed(plain []byte) []byte {
	var b bytes.Buffer
	w := lzw.NewWriter(&b, lzw.LSB, 8)
	_, _ = w.Write(plain)
	_ = w.Close()
	return packed(messageCompressed, compressedBody{Buf: b.Bytes()})
}

func compound(parts ...[]byte) []byte {
	b := []byte{messageCompound, byte(len(parts))}
	for _, p := range parts {
		b = append(b, byte(len(p)>>8), byte(len(p)))
	}
	return append(b, bytes.Join(parts, nil)...)
}

// bombs returns what an attacker with the key can send and no agent sends.
func bombs(m *member) (streams, packets map[string][]byte) {
	meta, err := encode(m.tag, false, &rollcallv1.Headline{Pod: "x", PodUid: "y"})
	if err != nil {
		panic(err)
	}
	member := aliveState{Node: memberName("x", "y"), Addr: []byte{127, 0, 0, 9}, Port: 1, Incarnation: 1, Meta: meta, Vsn: versions}
	short, ping := member, packed(messagePing, pingBody{SeqNo: 1})
	short.Vsn = versions[:3]
	zip := compressed(garbage[:1*mebi])
	streams = map[string][]byte{
		"a million nodes":    packed(messageExchange, exchangeHeader{Nodes: 1 << 20}),
		"20 MiB of state":    packed(messageExchange, exchangeHeader{UserStateLen: 20 * mebi}),
		"a user message":     packed(8, map[string]int{"UserMsgLen": 20 * mebi}),
		"compressed":         compressed(append(garbage, garbage[:19*mebi]...)),
		"nothing":            {},
		"deep nesting":       append([]byte{messagePing}, bytes.Repeat([]byte{0x91}, maxState-100)...),
		"a long string":      append([]byte{messagePing, 0x81, 0xa4}, "Node\xdb\x7f\xff\xff\xff"...),
		"a node of no kind":  packed(messageExchange, exchangeHeader{Nodes: 1}, nodeState{Name: "x", Vsn: versions[:3]}),
		"more than it says":  append(packed(messageExchange, exchangeHeader{}), garbage[:1*mebi]...),
		"a ping of megabyte": packed(messagePing, pingBody{Node: strings.Repeat("x", mebi)}),
	}
	packets = map[string][]byte{
		"compressed":               zip,
		"compressed in a compound": compound(ping, zip),
		"versions missing":         packed(messageAlive, short),
		"versions missing inside":  compound(ping, packed(messageAlive, short)),
		"a compound in a compound": compound(compound(ping)),
		"nothing":                  {},
		"a user message":           {8, 1, 2, 3},
		"deep nesting":             append([]byte{messagePing}, bytes.Repeat([]byte{0x91}, 1000)...),
		"as large as packets are":  packed(messagePing, pingBody{Node: strings.Repeat("x", 60_000)}),
	}
	return streams, packets
}

// TestBombsWithTheKeyAreRefused checks that what no agent sends is refused and counted, even with
// the key: no agent dies of it, or holds more than the message.
func TestBombsWithTheKeyAreRefused(t *testing.T) {
	m := newPrey(t, 1).start()
	streams, packets := bombs(m)
	tried := func(name string, bomb func()) {
		t.Run(name, func(t *testing.T) {
			before := m.strange()
			grew := peak(func() {
				bomb()
				require.Eventually(t, func() bool { return m.strange() > before }, 5*time.Second, time.Millisecond, "refused")
			})
			require.Less(t, grew, uint64(8*mebi))
			require.Equal(t, 1, m.alive())
		})
	}
	stream := func(b []byte) {
		conn, err := m.call([4]byte{127, 9, 9, 9})
		require.NoError(t, err)
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(b)
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err)
	}
	packet := func(b []byte) {
		conn, err := net.Dial("udp4", m.address.String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write(b)
		require.NoError(t, err)
	}
	for name, b := range streams {
		b = m.framed(sealVersion, b)
		tried("stream "+name, func() { stream(b) })
	}
	for name, b := range packets {
		b = m.packet(sealVersion, b)
		tried("packet "+name, func() { packet(b) })
	}
	// memberlist takes off as much padding as the last byte says, whatever is there.
	padded := append(bytes.Repeat([]byte{messagePing}, 31), 200)
	tried("stream padded", func() { stream(m.framed(0, padded)) })
	tried("packet padded", func() { packet(m.packet(0, padded)) })
	padded = packed(messagePing, pingBody{SeqNo: 1, Node: strings.Repeat("x", 30) + "\x01"})
	tried("packet padded and sound", func() { packet(m.packet(0, padded)) })

	require.Zero(t, m.rejected(reasonLabel))
	require.EqualValues(t, 3, m.refused(reasonCompressed))
}

// TestBombsAsAnswersAreRefused checks the same for answers of an exchange that this agent began.
func TestBombsAsAnswersAreRefused(t *testing.T) {
	m := newPrey(t, 1).start()
	streams, _ := bombs(m)
	c := *m.config
	network, err := listen(netip.MustParseAddrPort("127.0.0.8:0"), everybody, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	c.Transport = m.gate(network)
	list, err := memberlist.Create(&c)
	require.NoError(t, err)
	defer func() { require.NoError(t, list.Shutdown()) }()
	for name, b := range streams {
		t.Run(name, func(t *testing.T) {
			answer := m.framed(sealVersion, b)[len(m.labelled()):]
			liar, err := net.Listen("tcp", "127.0.0.9:0")
			require.NoError(t, err)
			defer liar.Close()
			go func() {
				conn, err := liar.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 64<<10))
				_, _ = conn.Write(answer)
				time.Sleep(100 * time.Millisecond)
			}()
			before := m.strange()
			grew := peak(func() {
				_, err = list.Join([]string{liar.Addr().String()})
				require.ErrorContains(t, err, "refused: ")
			})
			require.Less(t, grew, uint64(8*mebi))
			require.Greater(t, m.strange(), before)
		})
	}
}

// headlines are those of so many members; each is as large as it may be.
func headlines(m *member, members int) []any {
	values := []any{exchangeHeader{Nodes: members, UserStateLen: 1, Join: true}}
	for i := range members {
		pod := fmt.Sprintf("%s-%06d", strings.Repeat("p", 246), i)
		h := &rollcallv1.Headline{Pod: pod, PodUid: uid(i)}
		for {
			if meta, err := encode(m.tag, false, h); err != nil || len(meta) >= MaxMeta-1 {
				break
			}
			h.Zone += "z"
		}
		meta, err := encode(m.tag, false, h)
		if err != nil {
			panic(err)
		}
		values = append(values, nodeState{Name: memberName(pod, uid(i)), Addr: netip.MustParseAddr(fmt.Sprintf("fd00::%x", i+1)).AsSlice(), Port: 7946, Meta: meta, Incarnation: 1 << 31, Vsn: versions})
	}
	return values
}

// An exchange of as many members as there may be, each of them as long as it may be,
// is taken from anybody, and an agent has room for as many as it takes at a time. It has 5 s for
// each, which the race detector needs for one.
func TestLargestExchangeIsTaken(t *testing.T) {
	race.Heavy(t)
	p := newPrey(t, 3)
	require.NoError(t, p.sockets[1].Shutdown()) // named, and not there
	require.NoError(t, p.sockets[2].Shutdown())
	m := p.start()
	require.Eventually(t, func() bool { return m.table.knows(netip.MustParseAddr("127.0.1.2")) }, 5*time.Second, time.Millisecond)
	message := append(packed(messageExchange, headlines(m, maxEntries-1)...), metaVersion)
	require.Greater(t, len(message), maxState*8/10)
	framed := m.framed(sealVersion, message)
	grew := peak(func() {
		var tasks sync.WaitGroup
		for _, from := range [][4]byte{{127, 9, 9, 9}, {127, 0, 1, 2}, {127, 0, 1, 3}} {
			tasks.Go(func() {
				conn, err := m.call(from)
				if !assert.NoError(t, err) {
					return
				}
				defer conn.Close()
				_, err = conn.Write(framed)
				assert.NoError(t, err)
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				n, err := io.Copy(io.Discard, conn)
				assert.NoError(t, err)
				assert.Positive(t, n, "it answers")
			})
		}
		tasks.Wait()
		require.Eventually(t, func() bool { return m.alive() == maxEntries }, 20*time.Second, 10*time.Millisecond)
	})
	t.Logf("message %.2f MiB, %.1f MiB of heap", float64(len(framed))/mebi, float64(grew)/mebi)
	require.Less(t, grew, uint64(60*mebi))
	for _, why := range refused {
		require.Zero(t, m.refused(why), why)
	}
}
