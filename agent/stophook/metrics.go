package stophook

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/agent/counters"
)

// Metrics are the metrics of the stop hook.
type Metrics struct {
	runs  *prometheus.CounterVec // by result
	Calls *prometheus.CounterVec // by from and result
}

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	return &Metrics{
		runs: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_agent_stop_hooks_total",
			Help: "Runs of the stop hook, by how they ended.",
		}, []string{"result"}, []string{stopPrepared, stopDone, stopSilent, stopRefused, stopTimeout, stopFailed}),
		Calls: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_agent_stop_calls_total",
			Help: "Calls of the stop hook, by where they came from and what was made of them.",
		}, []string{"from", "result"}, []string{FromNode, fromGateway, fromPod, fromNamed, FromElsewhere},
			[]string{CallTaken, CallJoined, CallHeld, CallToken, CallAddress}),
	}
}
