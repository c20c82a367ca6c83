package pki

import (
	"github.com/prometheus/client_golang/prometheus"
)

// expiry reports when certificates end.
type expiry struct {
	keeper  *Keeper
	webhook *Webhook
	desc    *prometheus.Desc
}

// NewExpiry reports when the authorities and the certificates of a coordinator end.
func NewExpiry(keeper *Keeper, webhook *Webhook) prometheus.Collector {
	return &expiry{
		keeper: keeper, webhook: webhook,
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
	report := func(name string, of Pair) {
		metrics <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(of.cert.NotAfter.Unix()), name)
	}
	for _, of := range []struct {
		kept      *keeping
		authority string
		names     []string
	}{
		{&e.keeper.keeping, "authority", []string{profileClient: "client", profileServer: "server"}},
		{&e.webhook.keeping, "webhook-authority", []string{"webhook"}},
	} {
		authority := of.kept.Authority()
		if authority.IsZero() {
			continue
		}
		report(of.authority, authority.signer)
		for profile, name := range of.names {
			if pair, _, err := of.kept.current(profile); err == nil {
				report(name, pair)
			}
		}
	}
}
