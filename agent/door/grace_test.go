package door

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhoHasJustComeIsRead checks that a new connection is read, however many others come at the
// same time from however many addresses, and before its first bytes have arrived.
func TestWhoHasJustComeIsRead(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 4, PerPeer: 2, Known: 2, Grace: time.Hour})
	kubelet, server := h.enter("127.0.0.2")
	for i := range 20 {
		h.enter(fmt.Sprintf("127.0.1.%d", 1+i))
		h.enter("127.0.0.2")
	}
	require.True(t, answered(kubelet))
	KeepConn(server)
	require.True(t, answered(kubelet))
	require.Zero(t, h.ended(reasonAll)+h.ended(reasonPeer))
}

// TestGraceEnds checks that the grace ends without a further connection, and that a connection
// waits if too many are new.
func TestGraceEnds(t *testing.T) {
	const grace = 20 * time.Millisecond
	h := newHouse(t, Limits{Strangers: 4, PerPeer: 2, Known: 2, Grace: grace})
	for i := range 3 * lobby {
		h.enter(fmt.Sprintf("127.0.%d.%d", 1+i/200, 1+i%200))
		require.LessOrEqual(t, h.held(), 4+2+lobby+1)
	}
	require.Eventually(t, func() bool { return h.held() == 4 }, 10*time.Second, grace)
	first, _ := h.enter("127.0.0.2")
	h.enter("127.0.0.2")
	h.enter("127.0.0.2")
	require.Eventually(t, func() bool { return h.held() == 4 }, 10*time.Second, grace)
	require.False(t, answered(first))
}

// TestOneAddressMakesNobodyWait checks that thousands of new connections from one address end those
// of that address only.
func TestOneAddressMakesNobodyWait(t *testing.T) {
	h := newHouse(t, Limits{Strangers: 4, PerPeer: 2, Known: 2, Grace: time.Hour})
	for range 2 * lobby {
		h.enter("127.0.0.2")
	}
	other, _ := h.enter("127.0.0.3")
	require.True(t, answered(other))
	require.LessOrEqual(t, h.held(), 4+2+lobby+1)
}
