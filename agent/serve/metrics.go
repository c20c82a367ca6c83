package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rollcall-dev/rollcall/agent/counters"
)

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
	results := []string{resultOK, resultRefused, resultFailed}
	return &Metrics{
		orders: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_agent_orders_total",
			Help: "Orders of coordinators, by kind and whether they were let in.",
		}, []string{"order", "result"}, []string{orderPlanDrain, orderDrain, orderRestore, orderRestoreSetting, orderHandoffOnBehalf}, results),
		peerRequests: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_agent_peer_requests_total",
			Help: "What agents of other members asked for, by kind and whether it was let in.",
		}, []string{"request", "result"}, []string{requestLook, requestStep}, results),
		Callers: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_agent_callers_refused_total",
			Help: "Callers that were not served, by what was wrong with them.",
		}, []string{"reason"}, []string{callerCertificate, callerRole}),
		Connections: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_connections_refused_total",
			Help: "Connections that were ended to make room for others.",
		}, []string{"listener", "reason"}),
	}
}
