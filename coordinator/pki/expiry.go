package pki

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/coordinator/gauges"
)

// NewExpiry reports when the authorities and the certificates of a coordinator end.
func NewExpiry(keeper *Keeper, webhook *Webhook) prometheus.Collector {
	return gauges.New(prometheus.NewDesc("rollcall_certificate_expiry_timestamp_seconds", "When a certificate ends, in seconds since 1970.",
		[]string{"certificate"}, nil), func(set func(float64, ...string)) {
		keeper.expiry(set, "authority", []string{profileClient: "client", profileServer: "server"})
		webhook.expiry(set, "webhook-authority", []string{"webhook"})
	})
}

// expiry reports on an authority and its certificates, which have these names by profile.
func (k *keeping) expiry(set func(float64, ...string), authority string, names []string) {
	signer := k.Authority().signer
	if signer.IsZero() {
		return
	}
	report := func(of Pair, name string) { set(float64(of.cert.NotAfter.Unix()), name) }
	report(signer, authority)
	for profile, name := range names {
		if pair, _, err := k.current(profile); err == nil {
			report(pair, name)
		}
	}
}
