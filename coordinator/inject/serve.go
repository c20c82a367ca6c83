package inject

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// Reasons for which a review was not checked, in rollcall_webhook_refused_total.
const (
	refusedSize  = "size"  // more bytes than maxReview
	refusedShape = "shape" // more in it than in any pod that runs
	refusedBusy  = "busy"  // no room in time
	refusedSlow  = "slow"  // it did not come in time, or not whole
)

// headBytes are read first: API servers have a review's UID in them.
const headBytes = 4 << 10

// ServeHTTP implements http.Handler. It reads up to a limit, checks before it decodes, and lets
// through what it does not check.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "only POST is answered here", http.StatusMethodNotAllowed)
		return
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		door.Keep(r.Context()) // the certificate was asked for, and verified
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readWait))
	// API servers say how long it is.
	size := r.ContentLength
	if size < 0 || size > maxReview {
		size = maxReview
	}
	body := make([]byte, 0, min(size, headBytes))
	body, err := readUpTo(r.Body, body)
	if err != nil {
		h.unread(w, body, refusedSlow)
		return
	}
	if r.ContentLength > maxReview {
		h.unread(w, body, refusedSize)
		return
	}
	release := h.budget.take(r.Context(), r.RemoteAddr, size)
	if release == nil {
		h.unread(w, body, refusedBusy)
		return
	}
	defer release()
	if int64(len(body)) < size {
		if body, err = readUpTo(r.Body, append(make([]byte, 0, size), body...)); err != nil {
			h.unread(w, body, refusedSlow)
			return
		}
	}
	switch n, err := io.ReadFull(r.Body, make([]byte, 1)); {
	case n > 0:
		h.unread(w, body, refusedSize)
		return
	case !errors.Is(err, io.EOF):
		h.unread(w, body, refusedSlow)
		return
	}
	// It has arrived; a review that waits for its turn is not slow.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	h.review(w, r, body)
}

// readUpTo fills body to its capacity, or to the end of what there is.
func readUpTo(from io.Reader, body []byte) ([]byte, error) {
	n, err := io.ReadFull(from, body[len(body):cap(body)])
	body = body[:len(body)+n]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return body, err
}

// review answers the review that was read.
func (h *Webhook) review(w http.ResponseWriter, r *http.Request, body []byte) {
	done := h.budget.turn(r.Context())
	if done == nil {
		h.unread(w, body, refusedBusy)
		return
	}
	answer, refused := h.decide(r.Context(), body)
	done() // a client that does not read the answer does not block others
	switch {
	case refused != "":
		h.unread(w, body, refused)
	case answer == nil:
		h.results.WithLabelValues(resultInvalid).Inc()
		http.Error(w, "the body is not an AdmissionReview of admission.k8s.io/v1", http.StatusBadRequest)
	default:
		door.Served(r.Context())
		h.send(w, answer)
	}
}

// decide answers a review, or says why it is not checked. It returns neither for something that is
// no review.
func (h *Webhook) decide(ctx context.Context, body []byte) (answer *admissionv1.AdmissionReview, refused string) {
	seen, err := lookAt(body)
	switch {
	case errors.Is(err, errShape):
		return nil, refusedShape
	case err != nil || !seen.request:
		return nil, ""
	case !seen.label || !seen.owner:
		h.results.WithLabelValues(resultUnchanged).Inc()
		return allowed(seen), ""
	}
	done := h.budget.work(ctx, int64(seen.weight()))
	if done == nil {
		return nil, refusedBusy
	}
	defer done()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
		return nil, ""
	}
	return &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: h.Admit(review.Request)}, ""
}

// unread lets a pod through that was not checked. Without its UID there is no answer that an API
// server would accept; then the API server lets the pod through by itself (failurePolicy Ignore).
func (h *Webhook) unread(w http.ResponseWriter, body []byte, reason string) {
	h.refused.WithLabelValues(reason).Inc()
	h.opts.Lately.Note("webhook: "+reason, "")
	seen, ok := uidOf(body[:min(len(body), headBytes)])
	if h.quiet.Due(reason) {
		h.opts.Logger.Warn("a review was let through without a look at it; further ones of the next minute are only counted",
			"reason", reason, "uid", string(seen.UID))
	}
	if !ok {
		http.Error(w, "the request is not looked at: "+reason, http.StatusRequestEntityTooLarge)
		return
	}
	answer := allowed(seen)
	answer.Response.Warnings = []string{"rollcall: no agent was added: the request was not looked at (" + reason + ")"}
	h.send(w, answer)
}

func allowed(seen look) *admissionv1.AdmissionReview {
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: seen.APIVersion, Kind: seen.Kind},
		Response: &admissionv1.AdmissionResponse{UID: seen.UID, Allowed: true},
	}
}

func (h *Webhook) send(w http.ResponseWriter, answer *admissionv1.AdmissionReview) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil && h.quiet.Due("answer") {
		h.opts.Logger.Warn("an admission review could not be answered", "error", err)
	}
}
