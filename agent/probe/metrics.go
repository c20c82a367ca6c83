package probe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rollcall-dev/rollcall/agent/counters"
)

// Metrics are the metrics of the probes of the local database.
type Metrics struct {
	probes   *prometheus.CounterVec
	duration prometheus.Histogram
}

// Results of a probe, as the metric names them.
const (
	probeOK     = "ok"
	probeFailed = "failed"
)

// NewMetrics registers the metrics of the probes and of the board that holds their
// results.
func NewMetrics(registerer prometheus.Registerer, b *Board) *Metrics {
	made := promauto.With(registerer)
	made.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rollcall_report_age_seconds",
		Help: "Age of the newest look at the local database.",
	}, func() float64 {
		v, _ := b.Latest()
		if v.Result.Sequence == 0 {
			return 0
		}
		return time.Since(v.Result.Started).Seconds()
	})
	return &Metrics{
		probes: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_agent_probes_total",
			Help: "Looks at the local database, by whether they learned anything.",
		}, []string{"result"}, []string{probeOK, probeFailed}),
		duration: made.NewHistogram(prometheus.HistogramOpts{
			Name:    "rollcall_agent_probe_duration_seconds",
			Help:    "How long a look at the local database took.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
}

// probed counts a probe. It has failed if it did not learn whether the database is
// there, even if something answered.
func (m *Metrics) probed(took time.Duration, learned bool) {
	m.duration.Observe(took.Seconds())
	result := probeOK
	if !learned {
		result = probeFailed
	}
	m.probes.WithLabelValues(result).Inc()
}
