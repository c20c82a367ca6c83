package guard

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

type metrics struct {
	enforcing *prometheus.GaugeVec
	expired   prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	made := promauto.With(registerer)
	return &metrics{
		enforcing: made.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rollcall_guard_enforcing",
			Help: "1 while Kubernetes refuses to remove pods of the database cluster that Rollcall has not let go.",
		}, []string{"cluster"}),
		expired: made.NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_guard_expired",
			Help: "1 while no guard refuses anything because no coordinator led for too long. Every coordinator shows it.",
		}),
	}
}

func (m *metrics) show(key kube.Key, state State) {
	value := 0.0
	if state.Enforcing {
		value = 1
	}
	m.enforcing.WithLabelValues(key.String()).Set(value)
}

func (m *metrics) forget(key kube.Key) { m.enforcing.DeleteLabelValues(key.String()) }
