package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// maxScrapes is how many may read metrics at a time: a Prometheus or two, and a person.
const maxScrapes = 4

// newHandler serves health and metrics. ready answers why the coordinator is not.
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
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          door.ErrorLog(log, slog.LevelWarn),
		ConnContext:       door.ConnContext,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 32, MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 16 << 10},
		BaseContext:       func(net.Listener) context.Context { return ctx }, // what never ends by itself ends with it
	}
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
func servePage(ctx context.Context, listener net.Listener, conf *tls.Config, handler http.Handler, log *slog.Logger) error {
	if listener == nil {
		<-ctx.Done()
		return nil
	}
	return serveHTTP(ctx, tls.NewListener(listener, conf), handler, log)
}
