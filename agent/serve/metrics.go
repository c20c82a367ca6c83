package serve

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of requests and of those who make them.
type Metrics struct {
	orders *prometheus.CounterVec
	// peerRequests were answered to other agents.
	peerRequests *prometheus.CounterVec
	// Callers were not let in at all.
	Callers *prometheus.CounterVec
	// Connections were ended to make room.
	Connections *prometheus.CounterVec
}

// Results that several metrics name.
const (
	resultOK      = "ok"
	resultRefused = "refused"
	resultFailed  = "failed"
)

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_orders_total",
			Help: "Orders of coordinators, by kind and whether they were let in.",
		}, []string{"order", "result"}),
		peerRequests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_peer_requests_total",
			Help: "What agents of other members asked for, by kind and whether it was let in.",
		}, []string{"request", "result"}),
		Callers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_callers_refused_total",
			Help: "Callers that were not served, by what was wrong with them.",
		}, []string{"reason"}),
		Connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_connections_refused_total",
			Help: "Connections that were ended to make room for others.",
		}, []string{"listener", "reason"}),
	}
	results := []string{resultOK, resultRefused, resultFailed}
	for _, r := range results {
		for _, o := range []string{orderPlanDrain, orderDrain, orderRestore, orderRestoreSetting, orderHandoffOnBehalf} {
			m.orders.WithLabelValues(o, r)
		}
		for _, q := range []string{requestLook, requestStep} {
			m.peerRequests.WithLabelValues(q, r)
		}
	}
	for _, r := range []string{callerCertificate, callerRole} {
		m.Callers.WithLabelValues(r)
	}
	registerer.MustRegister(m.orders, m.peerRequests, m.Callers, m.Connections)
	return m
}
