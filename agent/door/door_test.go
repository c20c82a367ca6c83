package door

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// house is a limited listener that echoes, with the connections that it has taken.
type house struct {
	t       *testing.T
	door    net.Listener
	refused *prometheus.CounterVec
	log     *strings.Builder
	taken   chan net.Conn
}

func newHouse(t *testing.T, limits Limits) *house {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h := &house{t: t, log: &strings.Builder{}, taken: make(chan net.Conn, 100),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"listener", "reason"})}
	h.door = New(h.refused, slog.New(slog.NewTextHandler(h.log, nil))).Limit("test", inner, limits)
	t.Cleanup(func() { _ = h.door.Close() })
	go func() {
		for {
			c, err := h.door.Accept()
			if err != nil {
				return
			}
			h.taken <- c
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return h
}

// enter comes from an address of this machine and waits until it was taken in.
func (h *house) enter(from string) (client, server net.Conn) {
	h.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client, err := dialer.DialContext(h.t.Context(), "tcp", h.door.Addr().String())
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = client.Close() })
	return client, <-h.taken
}

// answered reports whether what is sent comes back.
func answered(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte("a")); err != nil {
		return false
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err == nil
}

func (h *house) held() int {
	l := h.door.(*listener)
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func (h *house) ended(reason string) int {
	return int(testutil.ToFloat64(h.refused.WithLabelValues("test", reason)))
}

// TestStrangerKeepsNobodyOut checks that another address still gets in when one has all connections
// that it may have, and so does a newcomer from the very same address.
func TestStrangerKeepsNobodyOut(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 4, PerPeer: 2, Known: 4})
	first, _ := h.enter("127.0.0.2")
	second, _ := h.enter("127.0.0.2")
	require.True(t, answered(first), "the second has been silent for longer now")
	newcomer, _ := h.enter("127.0.0.2")
	require.True(t, answered(newcomer))
	require.True(t, answered(first))
	require.False(t, answered(second))
	require.Equal(t, 1, h.ended(reasonPeer))

	legitimate, _ := h.enter("127.0.0.3")
	require.True(t, answered(legitimate))
	require.Zero(t, h.ended(reasonAll))
	require.Equal(t, 1, strings.Count(h.log.String(), "make room"))
}

// serve notes that the connection has carried a good request.
func serve(server net.Conn) {
	Served(ConnContext(context.Background(), tls.Server(server, &tls.Config{})))
}

// TestServedGoLast checks that connections without a good request do not end those that have
// carried one, even from the same address.
func TestServedGoLast(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 8, PerPeer: 4, Known: 4})
	kept, server := h.enter("127.0.0.2")
	serve(server)
	for range 20 {
		stranger, _ := h.enter("127.0.0.2")
		require.True(t, answered(stranger))
	}
	require.True(t, answered(kept))
	require.Equal(t, 17, h.ended(reasonPeer))
	for i := range 20 { // from everywhere
		stranger, _ := h.enter("127.0.1." + strconv.Itoa(i+1))
		require.True(t, answered(stranger))
	}
	require.True(t, answered(kept))
	Served(context.Background()) // of another listener, or none
}

// TestServedLeaveRoom checks that a client that sends good requests holds at most half of what one
// address may have, and does not end newcomers before they can ask.
func TestServedLeaveRoom(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 8, PerPeer: 4, Known: 4})
	var all []net.Conn
	for range 4 {
		client, server := h.enter("127.0.0.2")
		serve(server)
		all = append(all, client)
	}
	first, _ := h.enter("127.0.0.2")
	second, _ := h.enter("127.0.0.2")
	require.True(t, answered(first))
	require.True(t, answered(second))
	require.False(t, answered(all[0]))
	require.False(t, answered(all[1]))
	require.True(t, answered(all[2]))
	require.True(t, answered(all[3]))
}

// TestWhoHasMostMakesRoom checks that if all room is taken, a peer with a single connection does
// not lose it, however long it was silent.
func TestWhoHasMostMakesRoom(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 4, PerPeer: 3, Known: 4})
	quiet, _ := h.enter("127.0.0.3")
	for range 3 {
		h.enter("127.0.0.2")
	}
	for range 5 {
		h.enter("127.0.0.4")
		h.enter("127.0.0.2")
	}
	require.True(t, answered(quiet))
	require.Positive(t, h.ended(reasonAll))
	require.Equal(t, 4, h.held())
}

// TestKnownAreCountedApart checks that strangers do not end connections of known peers.
func TestKnownAreCountedApart(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 2, PerPeer: 1, Known: 2})
	var known []net.Conn
	for range 2 {
		client, server := h.enter("127.0.0.2")
		KeepConn(tls.Server(server, &tls.Config{}))
		KeepConn(server)
		known = append(known, client)
	}
	for range 5 {
		h.enter("127.0.0.2")
		h.enter("127.0.0.3")
	}
	require.True(t, answered(known[0]))
	require.True(t, answered(known[1]))
	third, server := h.enter("127.0.0.4")
	KeepConn(server)
	require.False(t, answered(known[0]), "there is room for two")
	require.True(t, answered(third))
	require.Equal(t, 1, h.ended(reasonKnown))
	KeepConn(known[0]) // of another listener, or none
}

// TestPortForwardIsKnown checks that a port-forward is recognised on a listener that allows it.
// Prometheus and kubelets do not come from there.
func TestPortForwardIsKnown(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 1, PerPeer: 1, Known: 5, Local: true})
	var all []net.Conn
	for range 5 {
		client, _ := h.enter("127.0.0.1")
		all = append(all, client)
	}
	for _, c := range all {
		require.True(t, answered(c))
	}
}

// TestRoomIsGivenBack by connections that end.
func TestRoomIsGivenBack(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 1, PerPeer: 1, Known: 1})
	for range 20 {
		client, server := h.enter("127.0.0.2")
		require.NoError(t, client.Close())
		require.Eventually(t, func() bool { return h.held() == 0 }, 5*time.Second, time.Millisecond)
		KeepConn(server) // too late to count
		require.Zero(t, h.held())
	}
	require.Zero(t, h.ended(reasonPeer)+h.ended(reasonAll)+h.ended(reasonKnown))
}

func TestPeer(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.0.7": "10.0.0.7/32", "::ffff:10.0.0.7": "10.0.0.7/32", "fd00::1:2:3:4": "fd00::/64", "fe80::1%eth0": "fe80::/64", "::1": "::1/128",
	} {
		require.Equal(t, want, Peer(netip.MustParseAddr(address)).String())
	}
	require.Zero(t, peerOf(nil))
	require.Zero(t, peerOf(&net.UnixAddr{Name: "x"}))
}

// TestHandshakesFillNoLog checks that failed handshakes log one line a minute, however many fail.
func TestHandshakesFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := ErrorLog(slog.New(slog.NewTextHandler(&out, nil)), slog.LevelWarn)
		for range 3 {
			for range 1000 {
				log.Print("TLS handshake error")
			}
			time.Sleep(quietFor)
		}
		require.Equal(t, 3, strings.Count(out.String(), "TLS handshake error"))
	})
}
