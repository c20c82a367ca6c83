package gossip

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// TestRefusedGossipIsRemembered checks that refused gossip is kept with its reason and its sender.
func TestRefusedGossipIsRemembered(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	m.Lately = &door.Refusals{}
	w := newLog(slog.New(slog.DiscardHandler), m)
	w.refused(reasonAddress, []byte("from 10.0.0.7"))
	w.refused(reasonKey, []byte("[ERR] memberlist: failed to receive: no installed keys could decrypt the message from=[fd00::7]:7946"))
	w.refused(reasonStreams, []byte("from somewhere"))
	m.count(reasonFull, "")
	from := map[string]string{}
	for _, r := range m.Lately.Lately() {
		from[r.What] = r.From
	}
	require.Equal(t, map[string]string{"gossip: address": "10.0.0.7", "gossip: key": "fd00::7", "gossip: streams": "", "gossip: full": ""}, from)
}
