package inject

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
)

// WebhookPath is where the webhook answers.
const WebhookPath = "/inject"

// maxReview bounds an admission review, in bytes. The API server takes no
// objects that are larger.
const maxReview = 4 << 20

// Lookup finds a DatabaseCluster in memory. The webhook must answer fast and
// while the API server is busy, so it asks nobody.
type Lookup func(namespace, name string) (*v1alpha1.DatabaseCluster, bool)

// WebhookOptions are for NewWebhook.
type WebhookOptions struct {
	// Image and PullPolicy of the agent, as in Options.
	Image      string
	PullPolicy corev1.PullPolicy
	// Lookup finds DatabaseClusters. Default: none is known. A pod whose
	// DatabaseCluster is not there (yet) gets an agent all the same, which waits.
	Lookup Lookup
	// Armed: there is an admission policy that heeds a closed guard. Default: there is.
	Armed func() bool
	// Logger. Default: slog.Default.
	Logger *slog.Logger
	// Registerer of metrics. Default: none.
	Registerer prometheus.Registerer

	token func() string
}

// Webhook answers admission reviews of pods that are being created. It never
// refuses a pod: one that cannot be given an agent is let through as it is,
// with a warning, a line in the log and the annotation rollcall.dev/injection.
type Webhook struct {
	opts    WebhookOptions
	results *prometheus.CounterVec
}

// Results of an injection, as the metric rollcall_injections_total counts them.
const (
	resultInjected  = "injected"
	resultUnchanged = "unchanged"
	resultRefused   = "refused"
	resultInvalid   = "invalid" // not an admission review of a pod
)

// NewWebhook checks the options.
func NewWebhook(opts WebhookOptions) (*Webhook, error) {
	if _, err := (Options{Image: opts.Image, PullPolicy: opts.PullPolicy}).withDefaults(); err != nil {
		return nil, err
	}
	if opts.Lookup == nil {
		opts.Lookup = func(string, string) (*v1alpha1.DatabaseCluster, bool) { return nil, false }
	}
	if opts.Armed == nil {
		opts.Armed = func() bool { return true }
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rollcall_injections_total",
		Help: "Pods that the webhook was asked about, by what became of them.",
	}, []string{"result"})
	for _, result := range []string{resultInjected, resultUnchanged, resultRefused, resultInvalid} {
		results.WithLabelValues(result)
	}
	if opts.Registerer != nil {
		opts.Registerer.MustRegister(results)
	}
	return &Webhook{opts: opts, results: results}, nil
}

// ServeHTTP implements http.Handler.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "only POST is answered here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err != nil {
		h.results.WithLabelValues(resultInvalid).Inc()
		http.Error(w, "the request could not be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
		h.results.WithLabelValues(resultInvalid).Inc()
		http.Error(w, "the body is not an AdmissionReview of admission.k8s.io/v1", http.StatusBadRequest)
		return
	}
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: h.Admit(review.Request)}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		h.opts.Logger.Warn("an admission review could not be answered", "err", err)
	}
}

// Admit answers one request. The answer always allows it.
func (h *Webhook) Admit(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	result, err := h.admit(request, response)
	h.results.WithLabelValues(result).Inc()
	if err != nil {
		response.Patch, response.PatchType = nil, nil
		response.Warnings = append(response.Warnings, "rollcall: no agent was added: "+err.Error())
		h.opts.Logger.Error("a pod could not be looked at", "namespace", request.Namespace, "pod", request.Name, "err", err)
	}
	return response
}

func (h *Webhook) admit(request *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) (string, error) {
	if request.Operation != admissionv1.Create || request.Resource.Resource != "pods" || request.Resource.Group != "" {
		return resultUnchanged, nil
	}
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return resultInvalid, fmt.Errorf("the object is not a pod: %w", err)
	}
	name := pod.Labels[v1alpha1.LabelCluster]
	if name == "" {
		return resultUnchanged, nil
	}
	var removals []operation
	var brought Warning
	if ownedByStatefulSet(&pod) {
		if brought = broughtGuard(&pod.ObjectMeta, name); brought != "" {
			removals = removeGuard(&pod.ObjectMeta)
		}
	}
	injected, warnings, refusal := Pod(&pod, h.options(request.Namespace, name))
	if brought != "" {
		warnings = append(warnings, brought)
	}
	result := resultInjected
	var texts []string
	if refusal != nil {
		// The database comes first: its pod starts without an agent, and says why.
		result = resultRefused
		response.Warnings = append(response.Warnings, "rollcall: no agent was added: "+refusal.Error())
		h.opts.Logger.Warn("a pod starts without an agent", "namespace", request.Namespace, "pod", pod.Name, "reason", refusal)
		injected = pod.DeepCopy()
		texts = append(texts, "no agent: "+refusal.Error())
	}
	for _, warning := range warnings {
		response.Warnings = append(response.Warnings, "rollcall: "+string(warning))
		h.opts.Logger.Warn("a pod was let in with a reservation", "namespace", request.Namespace, "pod", pod.Name, "reason", string(warning))
		texts = append(texts, string(warning))
	}
	if len(texts) > 0 {
		annotate(injected, strings.Join(texts, "; "))
	}
	ops, err := diff(&pod, injected)
	if err != nil {
		return resultInvalid, err
	}
	if ops = append(removals, ops...); len(ops) == 0 {
		return resultUnchanged, nil
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		return resultInvalid, err
	}
	response.Patch, response.PatchType = patch, new(admissionv1.PatchTypeJSONPatch)
	return result, nil
}

// options are those for one pod, by what is known of its DatabaseCluster.
func (h *Webhook) options(namespace, name string) Options {
	opts := Options{
		Image:           h.opts.Image,
		PullPolicy:      h.opts.PullPolicy,
		ExistingPreStop: KeepPreStop,
		Token:           h.opts.token,
	}
	cluster, known := h.opts.Lookup(namespace, name)
	if !known {
		return opts
	}
	opts.CredentialsSecret = cluster.Spec.Connection.CredentialsSecret
	// Those of a cluster that only audits are labelled on sight.
	opts.CloseGuard = guard.ModeOf(cluster) == guard.Closed && h.opts.Armed()
	return opts
}

// annotate says on the pod what a person should know: what a webhook warns of
// reaches only the StatefulSet controller, which tells nobody.
func annotate(pod *corev1.Pod, text string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1alpha1.AnnotationInjection] = text
}
