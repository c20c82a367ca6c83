package gossip

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestIndirectPingsAreBounded checks that indirect pings are limited. With the key, or by replaying
// a member's packet, an attacker makes an agent ping others: each ping takes a goroutine and two
// timers for half a second, and sends a packet to any address.
func TestIndirectPingsAreBounded(t *testing.T) {
	m := newPrey(t, 1).start()
	type indirect struct {
		SeqNo  uint32
		Target []byte
		Port   uint16
		Nack   bool
	}
	one := packed(messageIndirectPing, indirect{1, []byte{127, 0, 0, 9}, 9, true})
	var parts [][]byte
	for range maxMessage/(len(one)+2) - 1 {
		parts = append(parts, one)
	}
	packet := m.packet(sealVersion, compound(parts...))
	to, err := net.Dial("udp", m.address.String())
	require.NoError(t, err)
	defer to.Close()
	before, most, sent := runtime.NumGoroutine(), 0, 0
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		for range 20 {
			_, _ = to.Write(packet)
			sent += len(parts)
		}
		time.Sleep(time.Millisecond)
		most = max(most, runtime.NumGoroutine())
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	t.Log(len(parts), "in a packet of", len(packet), "bytes,", sent, "sent, goroutines at most", most-before, "system memory", s.Sys>>20, "MiB, stacks", s.StackSys>>20)
	require.Less(t, most-before, 1000)
}
