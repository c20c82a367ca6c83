package pki

import (
	"crypto/tls"

	"k8s.io/client-go/kubernetes"
)

// Webhook keeps the authority of the webhook, which signs nothing else, and the
// webhook's certificate.
type Webhook struct{ keeping }

// NewWebhook makes one that has nothing yet: call Ensure before the first handshake.
func NewWebhook(client kubernetes.Interface, opts Options) (*Webhook, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Webhook{newKeeping(client, opts, SecretWebhook, WebhookProfile(opts.Namespace, opts.Service))}, nil
}

// TLS is for the webhook: the API server shows no certificate.
func (w *Webhook) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			pair, _, err := w.current(0)
			if err != nil {
				return nil, err
			}
			return serving(pair), nil
		},
	}
}
