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
	httpLimits = door.Limits{Strangers: 32, PerPeer: 8, Known: 8, Grace: 5 * time.Millisecond}
	grpcLimits = door.Limits{Strangers: 32, PerPeer: 8, Known: 256}
)

// web is the agent's HTTP: health, metrics and the stop hook.
type web struct {
	token    string
	hook     func(ctx context.Context, from string) answer
	origins  origins
	calls    *prometheus.CounterVec
	quiet    *door.Quiet
	lately   *door.Refusals
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
	from := w.origins.of(r.RemoteAddr)
	refuse := func(result, why string) {
		w.count(r, from, result, "stop hook refused: "+why)
		http.Error(rw, why, http.StatusForbidden)
	}
	switch {
	case !sameToken(r.Header.Get(config.StopHeader), w.token):
		refuse(callToken, "the header "+config.StopHeader+" does not carry this pod's token")
		return
	case w.origins.refuses(from):
		refuse(callAddress, "the caller's address is neither one of the node's own nor in agent.stopHookCIDRs of Rollcall's chart")
		return
	}
	// The kubelet waits in silence, and kills the database when its call ends. Whoever has the token may join from anywhere, so who is
	// known to be the kubelet goes last.
	if from != fromElsewhere {
		door.Served(r.Context())
	}
	door.Keep(r.Context())
	// The hook ends by itself, within the pod's grace period.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Time{})
	if w.quiet.Due(callTaken + from) {
		w.logger.Info("stop hook called", "address", r.RemoteAddr, "from", from)
	}
	said := w.hook(r.Context(), from)
	switch {
	case said.result == callHeld:
		w.count(r, from, said.result, "stop hook called again")
	case from == fromElsewhere:
		w.count(r, from, said.result, "stop hook called from an address that is not known to be the node's, and taken all the same")
	default:
		w.calls.WithLabelValues(from, said.result).Inc()
	}
	fmt.Fprintln(rw, said.line)
}

// count notes a call that a person should know of.
func (w *web) count(r *http.Request, from, result, what string) {
	w.calls.WithLabelValues(from, result).Inc()
	if result != callTaken && result != callJoined {
		w.lately.Note("stop hook: "+result, r.RemoteAddr)
	}
	if w.quiet.Due(result) {
		w.logger.Warn(what+"; further ones of the next minute are only counted", "address", r.RemoteAddr, "from", from)
	}
}

// sameToken takes the same time whatever is given. Without a token nobody may.
func sameToken(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
