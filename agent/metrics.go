package agent

import (
	"crypto/x509"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/engines"
)

type metrics struct {
	probes    *prometheus.CounterVec
	probeTime prometheus.Histogram
	orders    *prometheus.CounterVec
	stopHooks *prometheus.CounterVec
	stopCalls *prometheus.CounterVec
	// peerRequests were answered to other agents.
	peerRequests *prometheus.CounterVec
	tends        *prometheus.CounterVec
	// callers were not let in at all.
	callers *prometheus.CounterVec
	// connections were ended to make room.
	connections *prometheus.CounterVec
	expiry      prometheus.Gauge
	reportAge   prometheus.GaugeFunc
}

// Results that several metrics name.
const (
	resultOK      = "ok"
	resultRefused = "refused"
	resultFailed  = "failed"
)

// newMetrics registers the metrics of this package. age answers how old the
// newest sighting is.
func newMetrics(registerer prometheus.Registerer, version string, age func() time.Duration) *metrics {
	m := &metrics{
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_probes_total",
			Help: "Looks at the local database, by whether they learned anything.",
		}, []string{"result"}),
		probeTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "rollcall_agent_probe_duration_seconds",
			Help:    "How long a look at the local database took.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_orders_total",
			Help: "Orders of coordinators, by kind and whether they were let in.",
		}, []string{"order", "result"}),
		stopHooks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_stop_hooks_total",
			Help: "Runs of the stop hook, by how they ended.",
		}, []string{"result"}),
		stopCalls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_stop_calls_total",
			Help: "Calls of the stop hook, by where they came from and what was made of them.",
		}, []string{"from", "result"}),
		peerRequests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_peer_requests_total",
			Help: "What agents of other members asked for, by kind and whether it was let in.",
		}, []string{"request", "result"}),
		tends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_tends_total",
			Help: "Rounds of doing what members owe each other without an order, by how they ended.",
		}, []string{"result"}),
		callers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_agent_callers_refused_total",
			Help: "Callers that were not served, by what was wrong with them.",
		}, []string{"reason"}),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_connections_refused_total",
			Help: "Connections that were ended to make room for others.",
		}, []string{"listener", "reason"}),
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_certificate_expiry_timestamp_seconds",
			Help: "When the agent's own certificate ends; 0 without one.",
		}),
		reportAge: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "rollcall_report_age_seconds",
			Help: "Age of the newest look at the local database.",
		}, func() float64 { return age().Seconds() }),
	}
	for _, r := range []string{resultOK, resultFailed} {
		m.probes.WithLabelValues(r)
	}
	for _, o := range []string{orderPlan, orderPrepare, orderRestore, orderRelieve} {
		for _, r := range []string{resultOK, resultRefused, resultFailed} {
			m.orders.WithLabelValues(o, r)
		}
	}
	for _, q := range []string{requestLook, requestStep} {
		for _, r := range []string{resultOK, resultRefused, resultFailed} {
			m.peerRequests.WithLabelValues(q, r)
		}
	}
	for _, r := range []string{tendDone, tendRunning, tendRefused, tendFailed, tendInterrupted} {
		m.tends.WithLabelValues(r)
	}
	for _, r := range []string{callerCertificate, callerRole} {
		m.callers.WithLabelValues(r)
	}
	for _, from := range []string{fromNode, fromGateway, fromPod, fromNamed, fromElsewhere} {
		for _, r := range []string{callTaken, callJoined, callHeld, callToken, callAddress} {
			m.stopCalls.WithLabelValues(from, r)
		}
	}
	for _, r := range []string{stopPrepared, stopDone, stopSilent, stopRefused, stopTimeout, stopFailed} {
		m.stopHooks.WithLabelValues(r)
	}
	tooLarge := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "rollcall_agent_answers_too_large_total",
		Help: "Answers of the local database that were not read, because they were larger than any that is legitimate.",
	}, func() float64 { return float64(engines.TooLarge()) })
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rollcall_build_info",
		Help: "Always 1; the labels say what runs.",
	}, []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	registerer.MustRegister(m.probes, m.probeTime, m.orders, m.stopHooks, m.stopCalls, m.peerRequests, m.tends, m.callers, m.connections, m.expiry, m.reportAge, tooLarge, build)
	return m
}

// probed: a look of which it is not known whether the database is there has failed, even
// if something answered.
func (m *metrics) probed(took time.Duration, learned bool) {
	m.probeTime.Observe(took.Seconds())
	if !learned {
		m.probes.WithLabelValues(resultFailed).Inc()
		return
	}
	m.probes.WithLabelValues(resultOK).Inc()
}

func (m *metrics) certificate(leaf *x509.Certificate) {
	if leaf != nil {
		m.expiry.Set(float64(leaf.NotAfter.Unix()))
	}
}
