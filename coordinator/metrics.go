package coordinator

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/coordinator/rollout"
)

// Metrics of all database clusters of a process.
type Metrics struct {
	prepare prometheus.Histogram
	away    prometheus.Histogram
}

// NewMetrics registers the metrics; with nil they are only counted.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		prepare: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "rollcall_drain_duration_seconds",
			Help:    "Time from the first order to drain a pod until its agent confirmed.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2.5, 12),
		}),
		away: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "rollcall_unavailable_duration_seconds",
			Help:    "Time from a pod's removal until it was back and its claim was released.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
	}
	if registerer != nil {
		registerer.MustRegister(m.prepare, m.away)
	}
	return m
}

// note takes in what a step has found out.
func (m *Metrics) note(d rollout.Decision) {
	for _, took := range d.Drains {
		m.prepare.Observe(took.Seconds())
	}
	for _, absence := range d.Absences {
		m.away.Observe(absence.Lasted.Seconds())
	}
}
