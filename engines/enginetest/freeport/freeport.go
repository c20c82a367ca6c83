// Package freeport finds ports for servers that a test starts and that must know their port in
// advance.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// The ports are below those that Linux gives to callers that ask for any port
// (net.ipv4.ip_local_port_range, from 32768 on). Linux would give such a port to another caller as
// soon as the test closes it, even to another listener of the same test.
const (
	first = 10000
	last  = 32000
)

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// Take returns count ports that are free for TCP and UDP at each of the hosts, or at 127.0.0.1 if
// none is given. It returns no port twice in one process.
func Take(t testing.TB, count int, hosts ...string) []int {
	t.Helper()
	if len(hosts) == 0 {
		hosts = []string{"127.0.0.1"}
	}
	mu.Lock()
	defer mu.Unlock()
	ports := make([]int, 0, count)
	for range 100 * count {
		port := first + rand.N(last-first)
		if given[port] || !free(port, hosts) {
			continue
		}
		given[port] = true
		if ports = append(ports, port); len(ports) == count {
			return ports
		}
	}
	t.Fatalf("%d ports from %d to %d are wanted at %v; %d are free", count, first, last, hosts, len(ports))
	return nil
}

// At returns a free address on the loopback interface.
func At(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", Take(t, 1)[0])
}

func free(port int, hosts []string) bool {
	for _, host := range hosts {
		at := netip.AddrPortFrom(netip.MustParseAddr(host), uint16(port))
		stream, err := net.Listen("tcp", at.String())
		if err != nil {
			return false
		}
		_ = stream.Close()
		packets, err := net.ListenPacket("udp", at.String())
		if err != nil {
			return false
		}
		_ = packets.Close()
	}
	return true
}
