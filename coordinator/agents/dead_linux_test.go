package agents

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Behind what nobody acknowledges, as after a cut, all that is sent later waits. The kernel gives such a
// connection up, and another one is made.
func TestTheKernelGivesADeadConnectionUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	o := Options{Plaintext: true}
	require.NoError(t, o.validate())
	conn, err := o.Dial(t.Context(), listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var timeout int
	require.NoError(t, raw.Control(func(socket uintptr) {
		timeout, err = unix.GetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	require.EqualValues(t, deadAfter.Milliseconds(), timeout)
}
