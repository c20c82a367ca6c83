package agent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/door"
)

const (
	webTimeout     = 10 * time.Second
	maxHeaderBytes = 8 << 10
	maxScrapes     = 3
)

// Who comes to the agent's HTTP: the kubelet of the node, one connection for each
// look, and a Prometheus or two, which keep one. Of gRPC strangers are only those
// who have not shown a certificate yet; after it come coordinators, one connection
// each, and members of the database in a handover.
var (
	httpLimits = door.Limits{Strangers: 32, PerPeer: 8, Known: 8}
	grpcLimits = door.Limits{Strangers: 32, PerPeer: 8, Known: 256}
)

// web is the agent's HTTP: health, metrics and the stop hook.
type web struct {
	token    string
	hook     func(context.Context) string
	unready  func() []string
	gatherer prometheus.Gatherer
	logger   *slog.Logger
}

func (w *web) server(address string) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(rw, "ok")
	})
	// For people only: nothing may take traffic away from a database because its
	// agent is not ready.
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		reasons := w.unready()
		if len(reasons) > 0 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(rw, strings.Join(reasons, "\n"))
			return
		}
		fmt.Fprintln(rw, "ok")
	})
	mux.Handle("GET /metrics", door.Newest(maxScrapes, promhttp.HandlerFor(w.gatherer, promhttp.HandlerOpts{DisableCompression: true})))
	mux.HandleFunc("GET "+config.StopPath, w.stop)
	return &http.Server{
		Addr:              address,
		Handler:           http.MaxBytesHandler(mux, 1<<10),
		ReadHeaderTimeout: webTimeout / 2,
		ReadTimeout:       webTimeout,
		WriteTimeout:      2 * webTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          door.ErrorLog(w.logger, slog.LevelDebug),
		ConnContext:       door.ConnContext,
	}
}

// stop is called by the kubelet, and answers 200 whatever happened: a hook that
// fails would only be an Event, and the pod stops all the same.
func (w *web) stop(rw http.ResponseWriter, r *http.Request) {
	if !sameToken(r.Header.Get(config.StopHeader), w.token) {
		w.logger.Warn("stop hook called without the pod's token")
		http.Error(rw, "the header "+config.StopHeader+" does not carry this pod's token", http.StatusForbidden)
		return
	}
	// The kubelet waits in silence, and a hook whose caller goes is given up.
	door.Keep(r.Context())
	// The hook ends by itself, within the pod's grace period.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Time{})
	fmt.Fprintln(rw, w.hook(r.Context()))
}

// sameToken takes the same time whatever is given. Without a token nobody may.
func sameToken(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
