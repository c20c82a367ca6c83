package main

import (
	"net/http"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are those of the process as a whole.
type metrics struct {
	leader prometheus.Gauge
	writes *prometheus.CounterVec
	// connections were ended to make room.
	connections *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_leader",
			Help: "1 while this coordinator is the elected one.",
		}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_api_writes_total",
			Help: "Writes to the API server that were answered, Events and Leases aside.",
		}, []string{"verb"}),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_connections_refused_total",
			Help: "Connections that were ended to make room for others.",
		}, []string{"listener", "reason"}),
	}
	for _, verb := range []string{"create", "update", "patch", "delete", "evict"} {
		m.writes.WithLabelValues(verb)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "rollcall_build_info",
		Help:        "1, labelled with what was built.",
		ConstLabels: prometheus.Labels{"version": versionText(), "go": runtime.Version()},
	})
	build.Set(1)
	registerer.MustRegister(m.leader, m.writes, m.connections, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
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
