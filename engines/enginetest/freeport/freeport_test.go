package freeport

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Linux does not give one of these ports to a caller that asks for any port.
func TestBelowWhatLinuxGives(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	require.NoError(t, err)
	var from, to int
	_, err = fmt.Sscan(strings.TrimSpace(string(text)), &from, &to)
	require.NoError(t, err)
	require.LessOrEqual(t, last, from, "ports from %d on are given to anybody", from)
}

func TestTaken(t *testing.T) {
	seen := map[int]bool{}
	for range 40 {
		for _, port := range Take(t, 5) {
			require.False(t, seen[port], "%d twice", port)
			require.GreaterOrEqual(t, port, first)
			require.Less(t, port, last)
			seen[port] = true
		}
	}
}

// A port counts as free only if it is for both protocols, at every host.
func TestInUse(t *testing.T) {
	at := At(t)
	_, text, err := net.SplitHostPort(at)
	require.NoError(t, err)
	var port int
	_, err = fmt.Sscan(text, &port)
	require.NoError(t, err)
	both := []string{"127.0.0.1", "127.0.0.9"}
	require.True(t, free(port, both))

	packets, err := net.ListenPacket("udp", "127.0.0.9:"+text)
	require.NoError(t, err)
	require.True(t, free(port, both[:1]))
	require.False(t, free(port, both))
	require.NoError(t, packets.Close())

	stream, err := net.Listen("tcp", at)
	require.NoError(t, err)
	defer stream.Close()
	require.False(t, free(port, both))
}
