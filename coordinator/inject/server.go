package inject

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// Serve serves WebhookPath on the listener until ctx ends, and then lets pending requests finish.
// It closes the listener.
func Serve(ctx context.Context, listener net.Listener, conf *tls.Config, webhook http.Handler, logger *slog.Logger) error {
	mux := http.NewServeMux()
	mux.Handle(WebhookPath, webhook)
	server := &http.Server{
		Handler:           mux,
		TLSConfig:         conf,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		// Limits of what a connection may have under way, and of what it may have sent that is not
		// read yet. An API server that needs more opens another connection.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 16, MaxReadFrameSize: 16 << 10,
			MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 64 << 10,
		},
		ErrorLog:    door.ErrorLog(logger, slog.LevelWarn),
		ConnContext: door.ConnContext,
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 6*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	err := server.ServeTLS(listener, "", "")
	if stop() {
		return fmt.Errorf("serve the webhook: %w", err)
	}
	if err := <-stopped; err != nil {
		return fmt.Errorf("stop the webhook: %w", errors.Join(err, server.Close()))
	}
	return nil
}
