// Package freeport finds ports for servers that a test starts and that must know their port in
// advance.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// The ports are below those that Linux gives to callers that ask for any port
// (net.ipv4.ip_local_port_range, from 32768 on). Linux would give such a port to another caller as
// soon as the test closes it, even to another listener of the same test. A process has whole blocks
// of them to itself: the port of a server that is down is free, and the tests of another package,
// which run at the same time, must not take it.
const (
	first = 10000
	last  = 32000
	block = 100
)

var (
	mu    sync.Mutex
	ports []int      // of this process's blocks, not given to anybody yet
	locks []*os.File // of its blocks; the end of the process closes them
)

// Take returns count ports that are free for TCP and UDP at each of the hosts, or at 127.0.0.1 if
// none is given. It returns no port twice, and none that another process of the machine was given
// and that still runs.
func Take(t testing.TB, count int, hosts ...string) []int {
	t.Helper()
	if len(hosts) == 0 {
		hosts = []string{"127.0.0.1"}
	}
	mu.Lock()
	defer mu.Unlock()
	out := make([]int, 0, count)
	for len(out) < count {
		if len(ports) == 0 && !lockBlock() {
			t.Fatalf("%d ports from %d to %d are wanted at %v; %d are free", count, first, last, hosts, len(out))
		}
		port := ports[0]
		ports = ports[1:]
		if free(port, hosts) {
			out = append(out, port)
		}
	}
	return out
}

// lockBlock adds the ports of a block that no process has.
func lockBlock() bool {
	dir := filepath.Join(os.TempDir(), "rollcall-test-ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false
	}
	for _, i := range rand.Perm((last - first) / block) {
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(first+i*block)), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return false
		}
		// A lock is of an open file, so a block that this process has is refused as well.
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			_ = f.Close()
			continue
		}
		locks = append(locks, f)
		for port := first + i*block; port < first+(i+1)*block; port++ {
			ports = append(ports, port)
		}
		return true
	}
	return false
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
