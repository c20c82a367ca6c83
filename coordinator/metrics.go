package coordinator

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rollcall-dev/rollcall/coordinator/rollout"
)

// Metrics of all database clusters of a process.
type Metrics struct {
	drains      prometheus.Histogram
	unavailable prometheus.Histogram
}

// NewMetrics registers the metrics; with nil they are only counted.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	made := promauto.With(registerer)
	return &Metrics{
		drains: made.NewHistogram(prometheus.HistogramOpts{
			Name:    "rollcall_drain_duration_seconds",
			Help:    "Time from the first order to drain a pod until its agent confirmed.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2.5, 12),
		}),
		unavailable: made.NewHistogram(prometheus.HistogramOpts{
			Name:    "rollcall_unavailable_duration_seconds",
			Help:    "Time from a pod's removal until it was back and its claim was released.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
	}
}

// note takes in what a step has found out.
func (m *Metrics) note(d rollout.Outcome) {
	for _, took := range d.Drains {
		m.drains.Observe(took.Seconds())
	}
	for _, absence := range d.Downtimes {
		m.unavailable.Observe(absence.Lasted.Seconds())
	}
}
