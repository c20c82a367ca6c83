package serve

import (
	"errors"
	"log/slog"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/probe"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestRefusalsGoWithReports checks that reports carry the refusals of callers, connections, the
// stop hook and gossip, and that a refusal wakes up no watcher.
func TestRefusalsGoWithReports(t *testing.T) {
	b := probe.NewBoard(&rollcallv1.Identity{Pod: "search-0"}, slog.New(slog.DiscardHandler))
	b.Refusals = &door.Refusals{}
	v, changed := b.Latest()
	require.Empty(t, b.Report(v, false).GetRefusals())
	before := v.Digest

	m := NewMetrics(prometheus.NewRegistry())
	c := newCallers(m.Callers, b.Refusals, slog.New(slog.DiscardHandler))
	for range 3 {
		c.refuse(callerRole, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 1}, errors.New("no"))
	}
	told := b.Report(v, false).GetRefusals()
	require.Len(t, told, 1)
	require.Equal(t, "caller: role", told[0].GetWhat())
	require.EqualValues(t, 3, told[0].GetCount())
	require.Equal(t, "10.0.0.7:1", told[0].GetFrom())
	require.Equal(t, v.Identity.GetPod(), told[0].GetPod())
	g := gossip.NewMetrics(prometheus.NewRegistry())
	g.Lately = b.Refusals

	now, still := b.Latest()
	require.Equal(t, before, now.Digest)
	require.Equal(t, changed, still)
}
