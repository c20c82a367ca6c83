package inject

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rollcall-dev/rollcall/agent/counters"
	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
)

// WebhookPath is where the webhook answers.
const WebhookPath = "/inject"

// maxReview bounds an admission review, in bytes. The API server keeps no
// object that is larger than 1.5 MiB, and pods of databases have some 20 KiB.
const maxReview = 2 << 20

// Lookup finds a DatabaseCluster in memory. The webhook must answer fast and while the API server
// is busy, so it sends no requests.
type Lookup func(namespace, name string) (*v1alpha1.DatabaseCluster, bool)

// WebhookOptions are the options of a Webhook.
type WebhookOptions struct {
	// Image and PullPolicy of the agent, as in Options.
	Image      string
	PullPolicy corev1.PullPolicy
	// Lookup finds DatabaseClusters. Default: none is known. A pod whose DatabaseCluster does not
	// exist (yet) still gets an agent, which waits.
	Lookup Lookup
	// Secret returns the metadata of a Secret, live, or nil if there is none. It must return within
	// a second. Default: every Secret may be mounted.
	Secret func(ctx context.Context, namespace, name string) (*metav1.ObjectMeta, error)
	// Armed reports whether there is an admission policy that enforces a closed guard. Default:
	// there is.
	Armed func() bool
	// Logger. Default: slog.Default.
	Logger *slog.Logger
	// Lately records for people what was not checked. Default: nothing does.
	Lately *door.Refusals
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
	refused *prometheus.CounterVec
	budget  *budget
	quiet   *door.Quiet
	lines   flowcontrol.RateLimiter
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
	results := counters.New(opts.Registerer, prometheus.CounterOpts{
		Name: "rollcall_injections_total",
		Help: "Pods that the webhook was asked about, by what became of them.",
	}, []string{"result"}, []string{resultInjected, resultUnchanged, resultRefused, resultInvalid})
	refused := counters.New(opts.Registerer, prometheus.CounterOpts{
		Name: "rollcall_webhook_refused_total",
		Help: "Reviews that the webhook let through without a look at the pod, by why.",
	}, []string{"reason"}, []string{refusedSize, refusedShape, refusedBusy, refusedSlow})
	return &Webhook{opts: opts, results: results, refused: refused, budget: newBudget(), quiet: door.NewQuiet(), lines: flowcontrol.NewTokenBucketRateLimiter(1, 60)}, nil
}

// Admit answers one request. The answer always allows it.
func (h *Webhook) Admit(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	result, err := h.admit(request, response)
	h.results.WithLabelValues(result).Inc()
	if err != nil {
		response.Patch, response.PatchType = nil, nil
		response.Warnings = append(response.Warnings, "rollcall: no agent was added: "+err.Error())
		h.log(slog.LevelError, "a pod could not be looked at", request.Namespace, request.Name, err.Error())
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
	// They are not ours to change, and would be long to compare.
	pod.ManagedFields, pod.Status = nil, corev1.PodStatus{}
	name := pod.Labels[v1alpha1.LabelCluster]
	if name == "" {
		return resultUnchanged, nil
	}
	var removals []operation
	var brought []Warning
	if ownedByStatefulSet(&pod) {
		if guard := broughtGuard(&pod.ObjectMeta, name); guard != "" {
			brought, removals = append(brought, guard), removeLabels(&pod.ObjectMeta, v1alpha1.LabelGuard, v1alpha1.LabelGuardCluster)
		}
		if role := broughtRole(&pod.ObjectMeta); role != "" {
			brought, removals = append(brought, role), append(removals, removeLabels(&pod.ObjectMeta, v1alpha1.LabelRole)...)
		}
	}
	injected, warnings, refusal := Pod(&pod, h.options(request.Namespace, name))
	warnings = append(warnings, brought...)
	result := resultInjected
	var texts []string
	if refusal != nil {
		// The database comes first: its pod starts without an agent, and says why.
		result = resultRefused
		response.Warnings = append(response.Warnings, "rollcall: no agent was added: "+refusal.Error())
		h.log(slog.LevelWarn, "a pod starts without an agent", request.Namespace, pod.Name, refusal.Error())
		injected = pod.DeepCopy()
		texts = append(texts, "no agent: "+refusal.Error())
	}
	for _, warning := range warnings {
		response.Warnings = append(response.Warnings, "rollcall: "+string(warning))
		h.log(slog.LevelWarn, "a pod was let in with a reservation", request.Namespace, pod.Name, string(warning))
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

// log logs about a pod, 60 times at once and once a second: anybody who reaches the port can invent
// pods. What is not logged is in the pod's annotation.
func (h *Webhook) log(level slog.Level, what, namespace, pod, reason string) {
	if h.lines.TryAccept() {
		h.opts.Logger.Log(context.Background(), level, what, "namespace", clip(namespace), "pod", clip(pod), "reason", clip(reason))
	}
}

// clip limits how much of others' text is logged.
func clip(text string) string {
	const most = 512
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// options returns the options for one pod, by what is known about its DatabaseCluster.
func (h *Webhook) options(namespace, name string) Options {
	opts := Options{
		Image:       h.opts.Image,
		PullPolicy:  h.opts.PullPolicy,
		KeepPreStop: true,
		Token:       h.opts.token,
	}
	if h.opts.Secret != nil {
		opts.Withheld = func(secret string) string { return h.withheld(namespace, secret, name) }
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

// withheld says why a Secret is not for the agents of a DatabaseCluster. A Secret that does not
// exist yet is mounted, and so is one about which the API server does not answer in time: agents
// use its content only once the coordinator has seen that they may.
func (h *Webhook) withheld(namespace, secret, cluster string) string {
	meta, err := h.opts.Secret(context.Background(), namespace, secret)
	switch {
	case err != nil:
		if h.quiet.Due("secret") {
			h.opts.Logger.Warn("whether a Secret may be mounted is not known; agents use it only once that is known; further ones of the next minute are not told",
				"namespace", clip(namespace), "secret", clip(secret), "error", clip(err.Error()))
		}
		return ""
	case meta == nil || consent.Given(meta, cluster):
		return ""
	}
	return string(consent.NotGiven(meta, cluster))
}

// annotate says on the pod what a person should know: warnings of a webhook reach only the
// StatefulSet controller, which shows them to nobody.
func annotate(pod *corev1.Pod, text string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1alpha1.AnnotationInjection] = text
}
