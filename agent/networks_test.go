package agent

import (
	"bytes"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/engines/memory"
)

// TestOldNetworksExcludeNobody checks that an old list of pod networks excludes nobody: an agent in
// another network is heard. A new list applies without a restart.
func TestOldNetworksExcludeNobody(t *testing.T) {
	database := memory.New(memory.Options{}, node(0), node(1), node(2))
	database.AddGroup("books/s1", node(0), node(1), node(2))
	r := newRing(t, database)
	r.file.PodNetworks = []netip.Prefix{netip.MustParsePrefix("127.77.1.1/32"), netip.MustParsePrefix("127.77.1.2/32")}
	var mu sync.Mutex
	var told gossip.Options
	for i := range 3 {
		r.start(i, func(o *Options) {
			o.NewMesh = func(g gossip.Options) (peers.Mesh, error) {
				mu.Lock()
				defer mu.Unlock()
				if i == 0 {
					told = g
				}
				return gossip.New(g)
			}
		})
	}
	r.run(r.members...)
	for _, m := range r.members {
		seesAll(t, m, 3)
	}
	near := func(ip string) bool {
		mu.Lock()
		defer mu.Unlock()
		return told.Near(netip.MustParseAddr(ip))
	}
	require.True(t, near("127.77.1.2"))
	require.False(t, near("127.77.1.3"))
	require.True(t, told.Allowed(netip.MustParseAddr("127.77.1.3")))

	r.file.PodNetworks = append(r.file.PodNetworks, netip.MustParsePrefix("127.77.1.3/32"))
	r.authority.Mount(r.members[0].dir, testNamespace, testCluster, r.file, bytes.Repeat([]byte{3}, 32))
	eventually(t, "the new list counts", func() bool { return near("127.77.1.3") })
	require.Len(t, r.members[0].roster().Entries, 3)
}
