package gossip

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/stretchr/testify/require"
)

func everybody(netip.Addr) bool { return true }

func sockets2(t *testing.T, at string) (*sockets, *sockets) {
	t.Helper()
	one, err := listen(netip.AddrPortFrom(netip.MustParseAddr(at), 0), everybody, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, one.Shutdown()) })
	other, err := listen(netip.AddrPortFrom(netip.MustParseAddr(at), 0), everybody, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Shutdown()) })
	return one, other
}

func TestPacketsAndStreams(t *testing.T) {
	for _, at := range []string{"127.0.0.1", "::1"} {
		t.Run(at, func(t *testing.T) {
			if probe, err := net.Listen("tcp", net.JoinHostPort(at, "0")); err != nil {
				t.Skip("no such address here")
			} else {
				_ = probe.Close()
			}
			one, other := sockets2(t, at)
			ip, port, err := other.FinalAdvertiseAddr("", 0)
			require.NoError(t, err)
			require.Equal(t, other.own.String(), net.JoinHostPort(ip.String(), strconv.Itoa(port)))

			// Each packet has its own memory: memberlist reads it after the next one came.
			to := memberlist.Address{Addr: other.own.String()}
			big := bytes.Repeat([]byte{7}, 40_000)
			_, err = one.WriteToAddress(big, to)
			require.NoError(t, err)
			_, err = one.WriteToAddress(nil, to) // dropped
			require.NoError(t, err)
			first := <-other.PacketCh()
			_, err = one.WriteToAddress([]byte("second"), to)
			require.NoError(t, err)
			second := <-other.PacketCh()
			require.Equal(t, big, first.Buf)
			require.Equal(t, "second", string(second.Buf))
			require.Less(t, cap(second.Buf), 1024)
			require.Equal(t, one.own.String(), second.From.String())
			require.WithinDuration(t, time.Now(), second.Timestamp, time.Minute)

			near, err := one.DialAddressTimeout(to, time.Minute)
			require.NoError(t, err)
			far := <-other.StreamCh()
			_, err = near.Write([]byte("hello"))
			require.NoError(t, err)
			require.NoError(t, near.Close())
			said, err := io.ReadAll(far)
			require.NoError(t, err)
			require.Equal(t, "hello", string(said))
			require.NoError(t, far.Close())
		})
	}
}

// TestNothingIsTakenFromElsewhere checks that nothing is read from addresses that are not allowed.
func TestNothingIsTakenFromElsewhere(t *testing.T) {
	near, far := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	refused := make(chan netip.Addr, 2)
	one, err := listen(netip.AddrPortFrom(near, 0), func(from netip.Addr) bool {
		if from != near {
			refused <- from
		}
		return from == near
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, one.Shutdown()) }()
	send := func(from netip.Addr, text string) {
		conn, err := (&net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}).Dial("udp", one.own.String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte(text))
		require.NoError(t, err)
	}
	send(far, "theirs")
	require.Equal(t, far, <-refused)
	send(near, "ours")
	require.Equal(t, "ours", string((<-one.PacketCh()).Buf))

	conn, err := (&net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(far, 0))}).Dial("tcp", one.own.String())
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, far, <-refused)
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err, "it is closed")
}

// TestShutdownWithWaitingCalls checks that unread connections do not keep the sockets open.
func TestShutdownWithWaitingCalls(t *testing.T) {
	one, other := sockets2(t, "127.0.0.1")
	_, err := one.WriteTo([]byte("x"), other.own.String())
	require.NoError(t, err)
	near, err := one.DialTimeout(other.own.String(), time.Minute)
	require.NoError(t, err)
	defer near.Close()
	require.NoError(t, other.Shutdown())
	require.NoError(t, other.Shutdown(), "memberlist calls it once more when it cannot start")
	again, err := listen(other.own, everybody, slog.New(slog.DiscardHandler))
	require.NoError(t, err, "the port is free again")
	require.NoError(t, again.Shutdown())
}

func TestPortInUse(t *testing.T) {
	one, _ := sockets2(t, "127.0.0.1")
	_, err := listen(one.own, everybody, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "address already in use")
	_, err = one.WriteTo([]byte("x"), "search-0.search:7946")
	require.Error(t, err, "names are resolved before")
}

// An agent hears a few packets each second for as long as its database lives.
func TestPacketsCostWhatTheyHold(t *testing.T) {
	one, other := sockets2(t, "127.0.0.1")
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := one.WriteTo(make([]byte, 100), other.own.String()); err != nil {
				b.Fatal(err)
			}
			<-other.PacketCh()
		}
	})
	require.Less(t, result.AllocedBytesPerOp(), int64(2048))
}
