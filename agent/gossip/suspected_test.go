package gossip

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// suspicion is memberlist's message that somebody suspects a member.
func suspicion(incarnation uint32, member string) []byte {
	const suspect, mapOfThree, short, number = 3, 0x83, 0xa0, 0xce
	text := func(b []byte, s string) []byte { return append(append(b, short|byte(len(s))), s...) }
	b := text([]byte{suspect, mapOfThree}, "Incarnation")
	b = binary.BigEndian.AppendUint32(append(b, number), incarnation)
	b = text(text(b, "Node"), member)
	return text(text(b, "From"), "somebody")
}

// TestTellsWhileItIsSuspected checks a new headline during a suspicion: memberlist refutes the
// suspicion with the old headline, under the incarnation after that of the new one.
func TestTellsWhileItIsSuspected(t *testing.T) {
	network := newNetwork(1)
	at := address(0)
	transport := network.transport(at)
	mesh, err := New(Options{
		Namespace: "prod", Cluster: "search", ClusterUID: "b27e5a0e-84f5-4d3b-8b0a-0d1d7c5c9e11", Pod: "search-0", PodUID: uid(0), Address: at, Insecure: true,
		Peers: func(context.Context) ([]netip.AddrPort, error) { return nil, nil }, Transport: transport,
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mesh.Run(ctx) }()
	defer func() { stop(); require.NoError(t, <-ended) }()

	suspected := make(chan struct{})
	go func() {
		defer close(suspected)
		for incarnation := uint32(10); ctx.Err() == nil; incarnation += 3 {
			packet, err := memberlist.AddLabelHeaderToPacket(suspicion(incarnation, mesh.delegate.self), string(mesh.tag[:]))
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case transport.packets <- &memberlist.Packet{Buf: packet, From: net.UDPAddrFromAddrPort(address(1)), Timestamp: time.Now()}:
			case <-ctx.Done():
			}
		}
	}()
	for n := range uint64(3000) {
		require.NoError(t, mesh.Publish(&rollcallv1.Headline{Pod: "search-0", PodUid: uid(0), Sequence: n + 1}))
		told := func() bool {
			roster, _ := mesh.Roster()
			return len(roster.Entries) == 1 && roster.Entries[0].Headline.Sequence == n+1
		}
		for deadline := time.Now().Add(time.Minute); !told(); time.Sleep(20 * time.Microsecond) {
			require.True(t, time.Now().Before(deadline), "headline %d was never told", n+1)
		}
	}
	stop()
	<-suspected
}
