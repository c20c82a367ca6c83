package gossip

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rollcall-dev/rollcall/agent/counters"
	"github.com/rollcall-dev/rollcall/agent/door"
)

// reason why a member was not accepted; the set is closed, so no label comes
// from a remote string.
type reason string

const (
	reasonMalformed reason = "malformed"
	reasonVersion   reason = "version"
	reasonCluster   reason = "cluster"
	reasonIdentity  reason = "identity"
	reasonFull      reason = "full"
	reasonMerge     reason = "merge"
	reasonLabel     reason = "label"
	reasonKey       reason = "key"
	reasonAddress   reason = "address"
)

// Why something was refused before memberlist saw it, whoever sent it.
const (
	reasonStreams    reason = "streams"    // too many at once
	reasonBytes      reason = "bytes"      // too much is held at once
	reasonSize       reason = "size"       // longer than what agents send
	reasonUnfinished reason = "unfinished" // it did not come in time, or ended too early
	reasonCompressed reason = "compressed" // agents compress nothing
	reasonContent    reason = "content"    // with the key, but nothing that agents send
	reasonNothing    reason = "nothing"    // closed without a byte; not counted
)

var rejected = []reason{
	reasonMalformed, reasonVersion, reasonCluster, reasonIdentity, reasonFull, reasonMerge, reasonLabel, reasonKey, reasonAddress,
}

var refused = []reason{reasonStreams, reasonBytes, reasonSize, reasonUnfinished, reasonCompressed, reasonContent}

// Metrics outlive a Mesh, so that an agent that changes clusters keeps counting.
type Metrics struct {
	members  prometheus.Gauge
	rejected *prometheus.CounterVec
	refused  *prometheus.CounterVec
	joins    *prometheus.CounterVec
	// Lately remembers refusals for people. Default: none.
	Lately *door.Refusals
}

// NewMetrics registers the metrics of this package.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	return &Metrics{
		members: promauto.With(registerer).NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_gossip_members",
			Help: "Agents of the database cluster that this agent sees alive, itself included.",
		}),
		rejected: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_gossip_rejected_total",
			Help: "Messages about members, or of strangers (label, key), that were not accepted.",
		}, []string{"reason"}, rejected),
		refused: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_gossip_dropped_total",
			Help: "Streams and packets that were dropped because they were too many, too long, too slow, or nothing that agents send.",
		}, []string{"reason"}, refused),
		joins: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_gossip_joins_total",
			Help: "Attempts to exchange the roster with a peer found by name.",
		}, []string{"result"}, []string{"ok", "failed"}),
	}
}

// count counts a refusal, either as one of a stranger or as one of too much load.
func (m *Metrics) count(why reason, from string) {
	m.Lately.Note("gossip: "+string(why), from)
	if slices.Contains(refused, why) {
		m.refused.WithLabelValues(string(why)).Inc()
		return
	}
	m.rejected.WithLabelValues(string(why)).Inc()
}
