package web

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

//go:embed assets
var assets embed.FS

// contentPolicy lets the page load what this server serves and nothing else:
// no inline script or style, no frame, no form, no other host.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// maxStreams bounds how many pages are kept up to date at once.
const maxStreams = 64

// Handler serves the page and what it shows. It changes nothing and does not authenticate clients;
// its server does.
type Handler struct {
	board     *status.Board
	timelines *Timelines
	streams   chan struct{}
	mux       *http.ServeMux
}

// NewHandler returns a Handler for what is on the board. The timelines must observe it.
func NewHandler(board *status.Board, timelines *Timelines) *Handler {
	h := &Handler{board: board, timelines: timelines, streams: make(chan struct{}, maxStreams), mux: http.NewServeMux()}
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the name is a constant
	}
	h.mux.Handle("GET /", http.FileServerFS(files))
	h.mux.HandleFunc("GET /api/clusters", h.list)
	h.mux.HandleFunc("GET /api/clusters/{namespace}/{name}", h.cluster)
	h.mux.HandleFunc("GET /api/clusters/{namespace}/{name}/live", h.live)
	h.mux.HandleFunc("GET /api/clusters/{namespace}/{name}/pods/{pod}", h.explain)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(r.URL.Path, "/api/") {
		header.Set("Cache-Control", "no-store")
	}
	h.mux.ServeHTTP(w, r)
}

// Summary is a cluster in the list of all.
type Summary struct {
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	Engine    model.Engine       `json:"engine"`
	Phase     model.ClusterPhase `json:"phase"`
	Pods      status.PodCounts   `json:"pods"`
	// Rule is the one that holds while nothing is rolled out.
	Rule model.Rule `json:"rule,omitempty"`
}

func (h *Handler) list(w http.ResponseWriter, _ *http.Request) {
	if !h.leads(w) {
		return
	}
	list := []Summary{}
	for _, d := range h.board.List("") {
		s := Summary{Namespace: d.Key.Namespace, Name: d.Key.Name, Engine: d.Snapshot.Cluster.Spec.Engine, Phase: d.Phase, Pods: d.Pods}
		if d.Phase != model.ClusterRolling && len(d.Plan.Holds) > 0 {
			s.Rule = d.Plan.Holds[0].Rule
		}
		list = append(list, s)
	}
	answer(w, list)
}

func (h *Handler) cluster(w http.ResponseWriter, r *http.Request) {
	if d, ok := h.newest(w, r); ok {
		answer(w, NewView(d, h.timelines.Of(d.Key)))
	}
}

func (h *Handler) explain(w http.ResponseWriter, r *http.Request) {
	d, ok := h.newest(w, r)
	if !ok {
		return
	}
	e, err := status.Explain(d, r.PathValue("pod"))
	switch {
	case errors.Is(err, status.ErrNoSuchPod):
		refuse(w, http.StatusNotFound, err.Error())
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		answer(w, e)
	}
}

func keyOf(r *http.Request) status.Key {
	return status.Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

// newest returns the decision that a request is about. If there is none, it answers the request.
func (h *Handler) newest(w http.ResponseWriter, r *http.Request) (status.Decision, bool) {
	if !h.leads(w) {
		return status.Decision{}, false
	}
	key := keyOf(r)
	d, ok := h.board.Newest(key)
	if !ok {
		refuse(w, http.StatusNotFound, unknown(key))
	}
	return d, ok
}

func unknown(key status.Key) string {
	return fmt.Sprintf("nothing has been decided about DatabaseCluster %s: there is none, or this coordinator has only just been elected", key)
}

// leads reports whether this coordinator is the elected one. If not, it answers the request.
func (h *Handler) leads(w http.ResponseWriter) bool {
	leads, leader := h.board.Leader()
	if !leads {
		refuse(w, http.StatusServiceUnavailable, standby(leader))
	}
	return leads
}

func standby(leader string) string {
	if leader == "" {
		return "this coordinator is not elected, and nobody is at the moment"
	}
	return "this coordinator is not elected; ask " + leader
}

// Problem is the answer to a request that cannot be served.
type Problem struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

func refuse(w http.ResponseWriter, code int, why string) { write(w, code, Problem{Error: why}) }

func write(w http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"error":"the answer has no JSON form"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data) // the client has gone
}
