package gossip

import "github.com/prometheus/client_golang/prometheus"

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

// Metrics outlive a Mesh: an agent that changes clusters keeps counting.
type Metrics struct {
	members  prometheus.Gauge
	rejected *prometheus.CounterVec
	joins    *prometheus.CounterVec
}

// NewMetrics registers the metrics of this package.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		members: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_gossip_members",
			Help: "Agents of the database cluster that this agent sees alive, itself included.",
		}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_gossip_rejected_total",
			Help: "Messages about members, or of strangers (label, key), that were not accepted.",
		}, []string{"reason"}),
		joins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_gossip_joins_total",
			Help: "Attempts to exchange the roster with a peer found by name.",
		}, []string{"result"}),
	}
	for _, r := range []reason{reasonMalformed, reasonVersion, reasonCluster, reasonIdentity, reasonFull, reasonMerge, reasonLabel, reasonKey, reasonAddress} {
		m.rejected.WithLabelValues(string(r))
	}
	for _, r := range []string{"ok", "failed"} {
		m.joins.WithLabelValues(r)
	}
	if registerer != nil {
		registerer.MustRegister(m.members, m.rejected, m.joins)
	}
	return m
}
