package pki

import (
	"github.com/prometheus/client_golang/prometheus"
)

// expiry reports when the certificates of a Keeper end.
type expiry struct {
	keeper *Keeper
	desc   *prometheus.Desc
}

func newExpiry(k *Keeper) *expiry {
	return &expiry{
		keeper: k,
		desc: prometheus.NewDesc(
			"rollcall_certificate_expiry_timestamp_seconds",
			"When a certificate ends, in seconds since 1970.",
			[]string{"certificate"}, nil,
		),
	}
}

// Describe implements prometheus.Collector.
func (e *expiry) Describe(descs chan<- *prometheus.Desc) { descs <- e.desc }

// Collect implements prometheus.Collector.
func (e *expiry) Collect(metrics chan<- prometheus.Metric) {
	client, server, _, err := e.keeper.current()
	if err != nil {
		return
	}
	ends := map[string]float64{
		"authority": float64(e.keeper.Authority().NotAfter().Unix()),
		"client":    float64(client.cert.NotAfter.Unix()),
		"server":    float64(server.cert.NotAfter.Unix()),
	}
	for name, end := range ends {
		metrics <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, end, name)
	}
}
