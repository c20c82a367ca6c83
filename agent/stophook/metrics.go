package stophook

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of the stop hook.
type Metrics struct {
	runs  *prometheus.CounterVec // by result
	Calls *prometheus.CounterVec // by from and result
}

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_stop_hooks_total",
			Help: "Runs of the stop hook, by how they ended.",
		}, []string{"result"}),
		Calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_stop_calls_total",
			Help: "Calls of the stop hook, by where they came from and what was made of them.",
		}, []string{"from", "result"}),
	}
	for _, from := range []string{FromNode, fromGateway, fromPod, fromNamed, FromElsewhere} {
		for _, r := range []string{CallTaken, CallJoined, CallHeld, CallToken, CallAddress} {
			m.Calls.WithLabelValues(from, r)
		}
	}
	for _, r := range []string{stopPrepared, stopDone, stopSilent, stopRefused, stopTimeout, stopFailed} {
		m.runs.WithLabelValues(r)
	}
	registerer.MustRegister(m.runs, m.Calls)
	return m
}
