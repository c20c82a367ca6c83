package guard

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

type metrics struct {
	enforcing *prometheus.GaugeVec
	expired   prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		enforcing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rollcall_guard_enforcing",
			Help: "1 while Kubernetes refuses to remove pods of the database cluster that Rollcall has not let go.",
		}, []string{"cluster"}),
		expired: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_guard_expired",
			Help: "1 while no guard refuses anything because no coordinator led for too long. Every coordinator shows it.",
		}),
	}
	if registerer != nil {
		registerer.MustRegister(m.enforcing, m.expired)
	}
	return m
}

func (m *metrics) show(key kube.Key, state State) {
	value := 0.0
	if state.Enforcing {
		value = 1
	}
	m.enforcing.WithLabelValues(key.String()).Set(value)
}

func (m *metrics) forget(key kube.Key) { m.enforcing.DeleteLabelValues(key.String()) }
