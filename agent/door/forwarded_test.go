package door

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSidecarsForwardNoPort checks that connections from 127.0.0.6 count as strangers: behind an
// Istio sidecar, all connections from the network have that address.
func TestSidecarsForwardNoPort(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"127.0.0.6": false, "127.0.0.2": false, "::ffff:127.0.0.6": false, "10.0.0.1": false, "fe80::1": false,
	} {
		require.Equal(t, want, Forwarded(netip.MustParseAddr(address)), address)
	}
	h := newHouse(t, Limits{Strangers: 2, PerPeer: 1, Known: 5, Local: true})
	forwarded, _ := h.enter("127.0.0.1")
	first, _ := h.enter("127.0.0.6")
	h.enter("127.0.0.6")
	require.False(t, answered(first), "of one stranger there is one")
	require.True(t, answered(forwarded))
}
