package main

import (
	"net/http"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rollcall-dev/rollcall/agent/counters"
)

// metrics are those of the process as a whole.
type metrics struct {
	leader prometheus.Gauge
	writes *prometheus.CounterVec
	// connections were ended to make room.
	connections *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	registerer.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	made := promauto.With(registerer)
	made.NewGauge(prometheus.GaugeOpts{
		Name:        "rollcall_build_info",
		Help:        "1, labelled with what was built.",
		ConstLabels: prometheus.Labels{"version": versionText(), "go": runtime.Version()},
	}).Set(1)
	return &metrics{
		leader: made.NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_leader",
			Help: "1 while this coordinator is the elected one.",
		}),
		writes: counters.New(registerer, prometheus.CounterOpts{
			Name: "rollcall_api_writes_total",
			Help: "Writes to the API server that were answered, Events and Leases aside.",
		}, []string{"verb"}, []string{"create", "update", "patch", "delete", "evict"}),
		connections: made.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_connections_refused_total",
			Help: "Connections that were ended to make room for others.",
		}, []string{"listener", "reason"}),
	}
}

// countWrites wraps a client's transport.
func (m *metrics) countWrites(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if verb := writeVerb(request); verb != "" && err == nil {
			m.writes.WithLabelValues(verb).Inc()
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// writeVerb names a write; empty for reads, Events, Leases, and questions about people.
func writeVerb(request *http.Request) string {
	path := request.URL.Path
	for _, group := range []string{"events.k8s.io", "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"} {
		if strings.HasPrefix(path, "/apis/"+group+"/") {
			return ""
		}
	}
	switch request.Method {
	case http.MethodPost:
		if strings.HasSuffix(path, "/eviction") {
			return "evict"
		}
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}
