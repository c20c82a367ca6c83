package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
)

// podIP is an address of this machine that is not localhost.
var podIP = netip.MustParseAddr("127.0.0.77")

// TestOwnAddress checks a server that listens on its pod's own address only, with and without TLS: it is
// found, and told to be gone when it has gone.
func TestOwnAddress(t *testing.T) {
	ours := authority.New(t, "ours")
	for name, hosts := range map[string][]string{"plain": nil, "TLS": {"localhost"}, "TLS with another name": {"db.example"}} {
		t.Run(name, func(t *testing.T) {
			listener := listenAtOwn(t)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
			server.Listener.Close()
			server.Listener = listener
			o := testOptions("localhost", listener.Addr().(*net.TCPAddr).Port)
			o.Dial, o.Advise = OwnPod(podIP), true
			if hosts == nil {
				server.Start()
			} else {
				cert, key := ours.Issue(authority.Leaf{Hosts: hosts})
				server.TLS = pairOf(t, cert, key)
				server.StartTLS()
				o.TLS = TLS{Enabled: true, CA: ours.CA}
			}
			c, err := New(o)
			require.NoError(t, err)
			defer c.Close()
			_, err = ask(t, c)
			if name == "TLS with another name" {
				require.ErrorContains(t, err, "the certificate is not for localhost, but for db.example: set spec.connection.tls.serverName to one of them")
				server.Close()
				return
			}
			require.NoError(t, err)
			server.Close()
			_, err = ask(t, c)
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		})
	}
}

// listenAtOwn listens at a port of podIP at which nobody listens on localhost.
func listenAtOwn(t *testing.T) net.Listener {
	for {
		l, err := net.Listen("tcp", net.JoinHostPort(podIP.String(), "0"))
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		other, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			return l
		}
		_ = other.Close()
		_ = l.Close()
	}
}

// TestOneAddressStays checks that a server that was found stays the one: when it is down, another one at the
// other address is not asked. A timeout is no refusal.
func TestOneAddressStays(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(first.Addr().(*net.TCPAddr).Port)
	other, err := net.Listen("tcp", net.JoinHostPort(podIP.String(), port))
	require.NoError(t, err)
	defer other.Close()
	says := func(l net.Listener, text string) {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			conn.Close()
		}
	}
	go says(first, "first")
	go says(other, "other")
	said := func(dial func(context.Context, string, string) (net.Conn, error)) (string, error) {
		conn, err := dial(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		text, err := io.ReadAll(conn)
		return string(text), err
	}
	known := OwnPod(podIP)
	text, err := said(known)
	require.NoError(t, err)
	require.Equal(t, "first", text)
	require.NoError(t, first.Close())
	_, err = said(known)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	text, err = said(OwnPod(podIP))
	require.NoError(t, err)
	require.Equal(t, "other", text)
	_, err = said(OwnPod(netip.Addr{}))
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "the pod's address is not known")
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = OwnPod(podIP)(late, "tcp", "127.0.0.1:"+port)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestEachPortHasItsOwnAddress checks that servers in one pod may listen on different addresses, and that the
// own pod answers for no other host.
func TestEachPortHasItsOwnAddress(t *testing.T) {
	listen := func(l net.Listener) string {
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, l.Addr().String())
				_ = conn.Close()
			}
		}()
		return l.Addr().String()
	}
	first, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	everywhere, own := listen(first), listen(listenAtOwn(t))
	_, port, err := net.SplitHostPort(own)
	require.NoError(t, err)
	dial, ctx := OwnPod(podIP), t.Context()
	ask := func(address string) (string, error) {
		conn, err := dial(ctx, "tcp", address)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		text, err := io.ReadAll(conn)
		return string(text), err
	}
	said, err := ask(everywhere)
	require.NoError(t, err)
	require.Equal(t, everywhere, said)
	said, err = ask("127.0.0.1:" + port)
	require.NoError(t, err)
	require.Equal(t, own, said)
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = ask("192.0.2.1:" + port) // an address that is nobody's
	require.Error(t, err)
}
