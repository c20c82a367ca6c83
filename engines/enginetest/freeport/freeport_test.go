package freeport

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
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

// Two processes that take ports at the same time get different ones, though none of them is in use.
func TestTakenByAnotherProcess(t *testing.T) {
	if os.Getenv("ROLLCALL_TAKE_PORTS") != "" {
		fmt.Println("took", Take(t, 3000)) // more than would differ by luck
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	taken := func() (ports []int) {
		cmd := exec.Command(os.Args[0], "-test.run", t.Name(), "-test.count=1")
		cmd.Env = append(os.Environ(), "ROLLCALL_TAKE_PORTS=1")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		for word := range strings.FieldsSeq(strings.Trim(strings.TrimPrefix(line, "took "), "[]\n")) {
			port, err := strconv.Atoi(word)
			require.NoError(t, err, line)
			ports = append(ports, port)
		}
		require.Len(t, ports, 3000)
		return ports
	}
	one := taken()
	for _, port := range taken() {
		require.False(t, slices.Contains(one, port), "%d twice", port)
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
