package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// The clients of each listener, and how many connections they have at most in normal operation.
var (
	// The API servers, which keep a connection each, and send many reviews over it.
	webhookLimits = door.Limits{Strangers: 64, PerPeer: 16, Known: 64}
	// The kubelet of the node, one connection for each look; a Prometheus or two,
	// which keep theirs; a person who forwards the port.
	httpLimits = door.Limits{Strangers: 64, PerPeer: 16, Known: 16}
	// People come by port-forward, from the pod itself. Strangers here are those who
	// dial (networkPolicy.grpcFrom), until they have shown a certificate.
	grpcLimits = door.Limits{Strangers: 16, PerPeer: 8, Known: 256, Local: true}
	// A browser has half a dozen.
	pageLimits = door.Limits{Strangers: 16, PerPeer: 8, Known: 64, Local: true}
)

// listeners are opened before anything else, so that an address in use is
// known at once.
type listeners struct{ grpc, http, webhook, page net.Listener }

func listen(ctx context.Context, o options, doors *door.Doors) (l listeners, err error) {
	open := func(name, addr string, limits door.Limits) (listener net.Listener) {
		if err != nil {
			return nil
		}
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", addr); err != nil {
			return nil
		}
		return doors.Limit(name, listener, limits)
	}
	l = listeners{
		grpc:    open("grpc", o.grpcAddr, grpcLimits),
		http:    open("http", o.httpAddr, httpLimits),
		webhook: open("webhook", o.webhook, webhookLimits),
	}
	if o.pageAddr != "" {
		l.page = open("page", o.pageAddr, pageLimits)
	}
	return l, err
}

// webhookCallers are the authorities of --webhook-client-ca; nil without it.
func (o options) webhookCallers() (*x509.CertPool, error) {
	if o.webhookCA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.webhookCA)
	if err != nil {
		return nil, fmt.Errorf("--webhook-client-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("--webhook-client-ca: there is no certificate in the file")
	}
	return pool, nil
}

// webhookTLS makes the webhook require a client certificate of these authorities. Without them it
// requires none, because an API server sends one only if configured.
func webhookTLS(conf *tls.Config, callers *x509.CertPool) *tls.Config {
	if callers == nil {
		return conf
	}
	serve := conf.GetConfigForClient
	conf.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		own, err := serve(hello)
		if err != nil {
			return nil, err
		}
		// The library would verify every certificate in the chain before our own check: up to a
		// hundred signatures each time.
		own.ClientAuth, own.ClientCAs = tls.RequireAnyClientCert, callers
		own.VerifyConnection = func(state tls.ConnectionState) error { return isOf(callers, state.PeerCertificates) }
		return own, nil
	}
	return conf
}

// mostShown is the longest chain that is accepted: a certificate and its intermediate authorities.
const mostShown = 4

// isOf reports whether the chain leads to one of these authorities.
func isOf(callers *x509.CertPool, shown []*x509.Certificate) error {
	if n := len(shown); n == 0 || n > mostShown {
		return fmt.Errorf("%d certificates were shown; exactly one is allowed, with %d between it and the authority at most", n, mostShown-1)
	}
	between := x509.NewCertPool()
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	_, err := shown[0].Verify(x509.VerifyOptions{Roots: callers, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}
