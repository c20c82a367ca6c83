package agent

import (
	"crypto/x509"
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/serve"
	"github.com/rollcall-dev/rollcall/agent/stophook"
	"github.com/rollcall-dev/rollcall/engines"
)

// metrics are those of all packages, and of the agent as a whole.
type metrics struct {
	probe  *probe.Metrics
	repair *prometheus.CounterVec
	stop   *stophook.Metrics
	serve  *serve.Metrics
	gossip *gossip.Metrics
	expiry prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer, version string, b *probe.Board) *metrics {
	made := promauto.With(registerer)
	made.NewCounterFunc(prometheus.CounterOpts{
		Name: "rollcall_agent_answers_too_large_total",
		Help: "Answers of the local database that were not read, because they were larger than any that is legitimate.",
	}, func() float64 { return float64(engines.TooLarge()) })
	made.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rollcall_build_info",
		Help: "Always 1; the labels say what runs.",
	}, []string{"version", "go"}).WithLabelValues(version, runtime.Version()).Set(1)
	return &metrics{
		probe:  probe.NewMetrics(registerer, b),
		repair: drain.NewRepairMetrics(registerer),
		stop:   stophook.NewMetrics(registerer),
		serve:  serve.NewMetrics(registerer),
		gossip: gossip.NewMetrics(registerer),
		expiry: made.NewGauge(prometheus.GaugeOpts{
			Name: "rollcall_certificate_expiry_timestamp_seconds",
			Help: "When the agent's own certificate ends; 0 without one.",
		}),
	}
}

func (m *metrics) certificate(leaf *x509.Certificate) {
	if leaf != nil {
		m.expiry.Set(float64(leaf.NotAfter.Unix()))
	}
}

// process has the metrics of the process, whatever runs in it.
var process = sync.OnceValue(func() prometheus.Gatherer {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
})
