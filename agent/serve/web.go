package serve

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
	"github.com/rollcall-dev/rollcall/agent/stophook"
)

const (
	webTimeout     = 10 * time.Second
	maxHeaderBytes = 8 << 10
	maxScrapes     = 3
)

// Limits of connections. The HTTP port gets the node's kubelet, one connection per
// probe, and a Prometheus or two, which keep one. At the gRPC port only callers who
// have not shown a certificate yet are strangers; the others are coordinators, one
// connection each, and members of the database during a handover.
var (
	HTTPLimits = door.Limits{Strangers: 32, PerPeer: 8, Known: 8, Grace: 5 * time.Millisecond}
	GRPCLimits = door.Limits{Strangers: 32, PerPeer: 8, Known: 256}
)

// Web is the agent's HTTP: health, metrics and the stop hook.
type Web struct {
	Token    string
	Hook     func(ctx context.Context, from string) stophook.Answer
	Origins  stophook.Origins
	Calls    *prometheus.CounterVec
	Quiet    *door.Quiet
	Refusals *door.Refusals
	Unready  func() []string
	Gatherer prometheus.Gatherer
	Logger   *slog.Logger
}

func (w *Web) Server(address string) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(rw, "ok")
	})
	// For people only: a database must not lose traffic because its agent is not
	// ready.
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		reasons := w.Unready()
		if len(reasons) > 0 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(rw, strings.Join(reasons, "\n"))
			return
		}
		fmt.Fprintln(rw, "ok")
	})
	mux.Handle("GET /metrics", door.Newest(maxScrapes, promhttp.HandlerFor(w.Gatherer, promhttp.HandlerOpts{DisableCompression: true})))
	mux.HandleFunc("GET "+config.StopPath, w.stop)
	return &http.Server{
		Addr:              address,
		Handler:           http.MaxBytesHandler(mux, 1<<10),
		ReadHeaderTimeout: webTimeout / 2,
		ReadTimeout:       webTimeout,
		WriteTimeout:      2 * webTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          door.ErrorLog(w.Logger, slog.LevelDebug),
		ConnContext:       door.ConnContext,
	}
}

// stop is called by the kubelet. It answers 200 whatever happened: a failed hook
// would only be an Event, and the pod stops all the same.
func (w *Web) stop(rw http.ResponseWriter, r *http.Request) {
	from := w.Origins.Classify(r.RemoteAddr)
	refuse := func(result, why string) {
		w.count(r, from, result, "stop hook refused: "+why)
		http.Error(rw, why, http.StatusForbidden)
	}
	switch {
	case !sameToken(r.Header.Get(config.StopHeader), w.Token):
		refuse(stophook.CallToken, "the header "+config.StopHeader+" does not carry this pod's token")
		return
	case w.Origins.Refuses(from):
		refuse(stophook.CallAddress, "the caller's address is neither one of the node's own nor in agent.stopHookCIDRs of Rollcall's chart")
		return
	}
	// The kubelet waits silently, and kills the database when its call ends. Anybody
	// with the token may join from anywhere, so a caller who is known to be the
	// kubelet is the last to be ended.
	if from != stophook.FromElsewhere {
		door.Served(r.Context())
	}
	door.Keep(r.Context())
	// The hook ends by itself, within the pod's grace period.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Time{})
	if w.Quiet.Due(stophook.CallTaken + from) {
		w.Logger.Info("stop hook called", "address", r.RemoteAddr, "from", from)
	}
	said := w.Hook(r.Context(), from)
	switch {
	case said.Result == stophook.CallHeld:
		w.count(r, from, said.Result, "stop hook called again")
	case from == stophook.FromElsewhere:
		w.count(r, from, said.Result, "stop hook called from an address that is not known to be the node's, and taken all the same")
	default:
		w.Calls.WithLabelValues(from, said.Result).Inc()
	}
	fmt.Fprintln(rw, said.Line)
}

// count counts and logs a call that people should know of.
func (w *Web) count(r *http.Request, from, result, what string) {
	w.Calls.WithLabelValues(from, result).Inc()
	if result != stophook.CallTaken && result != stophook.CallJoined {
		w.Refusals.Note("stop hook: "+result, r.RemoteAddr)
	}
	if w.Quiet.Due(result) {
		w.Logger.Warn(what+"; further ones of the next minute are only counted", "address", r.RemoteAddr, "from", from)
	}
}

// sameToken takes constant time. Without a token nobody is let in.
func sameToken(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
