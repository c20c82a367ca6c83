package agents

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Behind what nobody acknowledges, as after a cut, all that is sent later waits. The kernel gives such a
// connection up, and another one is made.
func TestTheKernelGivesADeadConnectionUp(t *testing.T) {
	var made atomic.Pointer[net.TCPConn]
	h := start(t, func(o *Options) {
		agent := o.Dial
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			near, far := tcpPair(t)
			there, err := agent(ctx, address)
			if err != nil {
				return nil, err
			}
			go func() { _, _ = io.Copy(there, far); _ = there.Close() }()
			go func() { _, _ = io.Copy(far, there); _ = far.Close() }()
			made.Store(near)
			return near, nil
		}
	})
	h.Follow(search, following(h.many(1)...))
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })
	raw, err := made.Load().SyscallConn()
	require.NoError(t, err)
	var timeout int
	require.NoError(t, raw.Control(func(socket uintptr) {
		timeout, err = unix.GetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	require.EqualValues(t, deadAfter.Milliseconds(), timeout)
}

// tcpPair are both ends of a connection.
func tcpPair(t *testing.T) (near, far *net.TCPConn) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	near, err = net.DialTCP("tcp", nil, listener.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	far, err = listener.AcceptTCP()
	require.NoError(t, err)
	return near, far
}
