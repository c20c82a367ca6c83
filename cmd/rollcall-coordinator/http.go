package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// maxScrapes is how many may read metrics at a time: a Prometheus or two, and a person.
const maxScrapes = 4

// newHandler serves health and metrics. ready returns why the coordinator is not ready.
func newHandler(gatherer prometheus.Gatherer, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	// All metrics of a hundred databases are some MiB, and what compresses them is another.
	mux.Handle("GET /metrics", door.Newest(maxScrapes, promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{DisableCompression: true})))
	return mux
}

// serveHTTP serves until ctx ends, and returns when all requests have ended. It
// closes the listener.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	return serve(ctx, listener, &http.Server{Handler: handler}, log)
}

func serve(ctx context.Context, listener net.Listener, server *http.Server, log *slog.Logger) error {
	server.ReadHeaderTimeout = 5 * time.Second
	server.ReadTimeout = 10 * time.Second
	server.WriteTimeout = 30 * time.Second
	server.IdleTimeout = time.Minute
	server.MaxHeaderBytes = 16 << 10
	server.ErrorLog = door.ErrorLog(log, slog.LevelWarn)
	server.ConnContext = door.ConnContext
	server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 32, MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 16 << 10}
	server.BaseContext = func(net.Listener) context.Context { return ctx } // what never ends by itself ends with it
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	err := server.Serve(listener)
	if stop() {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	if err := <-stopped; err != nil {
		return fmt.Errorf("stop HTTP: %w", errors.Join(err, server.Close()))
	}
	return nil
}

// servePage serves the page to those who show the certificate of a reader or
// of a coordinator. Without a listener there is no page.
func servePage(ctx context.Context, listener net.Listener, keeper *pki.Keeper, handler http.Handler, log *slog.Logger) error {
	if listener == nil {
		<-ctx.Done()
		return nil
	}
	server := &http.Server{Handler: vouchedFor(keeper.Refuses, handler), ConnState: func(conn net.Conn, state http.ConnState) {
		switch secure, ok := conn.(*tls.Conn); {
		case state == http.StateClosed:
			keeper.Callers.Remove(conn)
		case state == http.StateActive && ok:
			keeper.Callers.Add(conn, secure.NetConn(), secure.ConnectionState().PeerCertificates)
		}
	}}
	return serve(ctx, tls.NewListener(listener, keeper.ServerTLS()), server, log)
}

// vouchedFor returns only those whose certificate counts at this moment.
func vouchedFor(refuses func([]*x509.Certificate) error, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := refuses(r.TLS.PeerCertificates); err != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, "your certificate does not count any more; read the Secret again: "+err.Error(), http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
