package agent

import (
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/gossip"
)

// TestRefusalsGoWithReports: of callers, connections, the stop hook and gossip; and
// nobody is woken up by one.
func TestRefusalsGoWithReports(t *testing.T) {
	b := testBoard()
	b.lately = &door.Refusals{}
	v, changed := b.newest()
	require.Empty(t, b.told(v, false).GetRefusals())
	before := v.digest

	m := newMetrics(prometheus.NewRegistry(), "test", func() time.Duration { return 0 })
	c := newCallers(m.callers, b.lately, slog.New(slog.DiscardHandler))
	for range 3 {
		c.refuse(callerRole, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 1}, errors.New("no"))
	}
	told := b.told(v, false).GetRefusals()
	require.Len(t, told, 1)
	require.Equal(t, "caller: role", told[0].GetWhat())
	require.EqualValues(t, 3, told[0].GetCount())
	require.Equal(t, "10.0.0.7:1", told[0].GetFrom())
	require.Equal(t, v.identity.GetPod(), told[0].GetPod())
	g := gossip.NewMetrics(prometheus.NewRegistry())
	g.Lately = b.lately

	now, still := b.newest()
	require.Equal(t, before, now.digest)
	require.Equal(t, changed, still)
}
