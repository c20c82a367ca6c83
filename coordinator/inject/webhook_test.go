package inject

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

func newWebhook(t *testing.T, clusters ...*v1alpha1.DatabaseCluster) (*Webhook, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	h, err := NewWebhook(WebhookOptions{
		Image:      "example.com/rollcall/agent:1",
		Registerer: registry,
		Logger:     slog.New(slog.DiscardHandler),
		Lookup: func(namespace, name string) (*v1alpha1.DatabaseCluster, bool) {
			for _, c := range clusters {
				if c.Namespace == namespace && c.Name == name {
					return c, true
				}
			}
			return nil, false
		},
		token: func() string { return "token" },
	})
	require.NoError(t, err)
	return h, registry
}

func review(t *testing.T, pod *corev1.Pod) *admissionv1.AdmissionReview {
	t.Helper()
	raw, err := json.Marshal(pod)
	require.NoError(t, err)
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       "request",
			Namespace: "prod",
			Operation: admissionv1.Create,
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Object:    runtime.RawExtension{Raw: raw},
		},
	}
}

// ask sends a review over HTTP and returns the answer and the patched pod.
func ask(t *testing.T, h *Webhook, sent *admissionv1.AdmissionReview) (*admissionv1.AdmissionResponse, *corev1.Pod) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	body, err := json.Marshal(sent)
	require.NoError(t, err)
	resp, err := http.Post(server.URL+WebhookPath, "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var answer admissionv1.AdmissionReview
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	require.Equal(t, sent.TypeMeta, answer.TypeMeta)
	require.Equal(t, sent.Request.UID, answer.Response.UID)
	require.True(t, answer.Response.Allowed)

	raw := sent.Request.Object.Raw
	if answer.Response.Patch != nil {
		require.Equal(t, admissionv1.PatchTypeJSONPatch, *answer.Response.PatchType)
		patch, err := jsonpatch.DecodePatch(answer.Response.Patch)
		require.NoError(t, err)
		raw, err = patch.Apply(raw)
		require.NoError(t, err)
	}
	var pod corev1.Pod
	require.NoError(t, json.Unmarshal(raw, &pod))
	return answer.Response, &pod
}

func database(change func(*v1alpha1.DatabaseCluster)) *v1alpha1.DatabaseCluster {
	cluster := &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search"},
		Spec:       model.Spec{Guard: model.GuardEnforce},
		Status: v1alpha1.Status{Conditions: []v1alpha1.Condition{
			{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue},
		}},
	}
	if change != nil {
		change(cluster)
	}
	return cluster
}

func TestWebhookInjects(t *testing.T) {
	pod := readPod(t, "testdata/pod/plain.in.yaml")
	h, registry := newWebhook(t)
	response, got := ask(t, h, review(t, pod))
	require.Empty(t, response.Warnings)
	opts := testOptions()
	opts.Token = func() string { return "token" }
	want, _, err := Pod(pod, opts)
	require.NoError(t, err)
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(a), string(b))

	// The API server asks again when another webhook changed the pod.
	response, again := ask(t, h, review(t, got))
	require.Nil(t, response.Patch)
	require.Equal(t, got, again)

	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP rollcall_injections_total Pods that the webhook was asked about, by what became of them.
# TYPE rollcall_injections_total counter
rollcall_injections_total{result="injected"} 1
rollcall_injections_total{result="invalid"} 0
rollcall_injections_total{result="refused"} 0
rollcall_injections_total{result="unchanged"} 1
`), "rollcall_injections_total"))
}

func TestWebhookClosesGuard(t *testing.T) {
	for name, c := range map[string]struct {
		cluster *v1alpha1.DatabaseCluster
		closed  bool
	}{
		"enforces":          {database(nil), true},
		"audits":            {database(func(c *v1alpha1.DatabaseCluster) { c.Spec.Guard = model.GuardAudit }), false},
		"off":               {database(func(c *v1alpha1.DatabaseCluster) { c.Spec.Guard = model.GuardOff }), false},
		"never healthy":     {database(func(c *v1alpha1.DatabaseCluster) { c.Status.Conditions = nil }), false},
		"not yet healthy":   {database(func(c *v1alpha1.DatabaseCluster) { c.Status.Conditions[0].Status = metav1.ConditionFalse }), false},
		"being deleted":     {database(func(c *v1alpha1.DatabaseCluster) { c.DeletionTimestamp = new(metav1.Now()) }), false},
		"another namespace": {database(func(c *v1alpha1.DatabaseCluster) { c.Namespace = "test" }), false},
		"another name":      {database(func(c *v1alpha1.DatabaseCluster) { c.Name = "other" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newWebhook(t, c.cluster)
			_, got := ask(t, h, review(t, readPod(t, "testdata/pod/plain.in.yaml")))
			require.Len(t, got.Spec.InitContainers, 1)
			if c.closed {
				require.Equal(t, v1alpha1.GuardClosed, got.Labels[v1alpha1.LabelGuard])
			} else {
				require.NotContains(t, got.Labels, v1alpha1.LabelGuard)
			}
		})
	}
}

// Who writes a template does not open the guards of its pods with it.
func TestWebhookIgnoresGuardsOfTemplates(t *testing.T) {
	for _, closes := range []bool{true, false} {
		for _, value := range []string{v1alpha1.GuardOpen, v1alpha1.GuardAudit, v1alpha1.GuardClosed, "", "x"} {
			for _, refused := range []bool{false, true} {
				pod := readPod(t, "testdata/pod/plain.in.yaml")
				pod.Labels[v1alpha1.LabelGuard], pod.Labels[v1alpha1.LabelGuardCluster] = value, "another"
				if refused {
					pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 7947}}
				}
				h, _ := newWebhook(t, database(func(c *v1alpha1.DatabaseCluster) {
					if !closes {
						c.Status.Conditions = nil
					}
				}))
				response, got := ask(t, h, review(t, pod))
				said := "the label rollcall.dev/guard: " + value + " of the pod template was ignored"
				require.Contains(t, strings.Join(response.Warnings, "\n"), said)
				require.Contains(t, got.Annotations[v1alpha1.AnnotationInjection], said)
				if closes && !refused {
					require.Equal(t, v1alpha1.GuardClosed, got.Labels[v1alpha1.LabelGuard])
					require.Equal(t, got.Labels[v1alpha1.LabelCluster], got.Labels[v1alpha1.LabelGuardCluster])
				} else {
					require.NotContains(t, got.Labels, v1alpha1.LabelGuard)
					require.NotContains(t, got.Labels, v1alpha1.LabelGuardCluster)
				}
				response, again := ask(t, h, review(t, got))
				if !refused {
					require.Nil(t, response.Patch, "asked again, it says no more")
				}
				require.Equal(t, got.Labels, again.Labels)
			}
		}
	}

	// A pod that no StatefulSet owns is a person's.
	pod := readPod(t, "testdata/pod/plain.in.yaml")
	pod.Labels[v1alpha1.LabelGuard], pod.OwnerReferences = v1alpha1.GuardOpen, nil
	h, _ := newWebhook(t, database(nil))
	response, _ := ask(t, h, review(t, pod))
	require.Nil(t, response.Patch)
}

// A new pod is neither a primary nor a replica, whatever its template says.
func TestWebhookIgnoresRolesOfTemplates(t *testing.T) {
	pod := readPod(t, "testdata/pod/plain.in.yaml")
	pod.Labels[v1alpha1.LabelRole] = v1alpha1.RolePrimary
	h, _ := newWebhook(t, database(nil))
	response, got := ask(t, h, review(t, pod))
	require.Contains(t, strings.Join(response.Warnings, "\n"), "the label rollcall.dev/role: primary of the pod template was ignored")
	require.NotContains(t, got.Labels, v1alpha1.LabelRole)
	require.Len(t, got.Spec.InitContainers, 1)

	pod.OwnerReferences = nil
	_, got = ask(t, h, review(t, pod))
	require.Equal(t, v1alpha1.RolePrimary, got.Labels[v1alpha1.LabelRole], "a person's own pod")
}

// Without an admission policy that heeds it a closed guard would mean nothing.
func TestWebhookClosesNothingInVain(t *testing.T) {
	h, _ := newWebhook(t, database(nil))
	h.opts.Armed = func() bool { return false }
	_, got := ask(t, h, review(t, readPod(t, "testdata/pod/plain.in.yaml")))
	require.Len(t, got.Spec.InitContainers, 1)
	require.NotContains(t, got.Labels, v1alpha1.LabelGuard)
	require.NotContains(t, got.Labels, v1alpha1.LabelGuardCluster)
}

func TestWebhookKnowsCredentials(t *testing.T) {
	h, _ := newWebhook(t, database(func(c *v1alpha1.DatabaseCluster) { c.Spec.Connection.CredentialsSecret = "solr-admin" }))
	_, got := ask(t, h, review(t, readPod(t, "testdata/pod/plain.in.yaml")))
	secret := got.Spec.Volumes[len(got.Spec.Volumes)-3].Secret
	require.Equal(t, "solr-admin", secret.SecretName)
}

// Whatever is wrong, the pod gets through, and says what a person should know.
func TestWebhookNeverRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		agent  bool
		says   string
	}{
		"preStop": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
			},
			agent: true, says: "has a preStop hook of its own, which was kept",
		},
		"port taken": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 7947}} },
			says:   "no agent: container solr uses port 7947",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := readPod(t, "testdata/pod/plain.in.yaml")
			c.change(pod)
			h, _ := newWebhook(t)
			response, got := ask(t, h, review(t, pod))
			require.Len(t, response.Warnings, 1)
			require.Contains(t, got.Annotations[v1alpha1.AnnotationInjection], c.says)
			require.Equal(t, c.agent, len(got.Spec.InitContainers) == 1)
		})
	}

	h, _ := newWebhook(t)
	sent := review(t, readPod(t, "testdata/pod/plain.in.yaml"))
	sent.Request.Object.Raw = []byte(`{"spec": 1}`)
	response := h.Admit(sent.Request)
	require.True(t, response.Allowed)
	require.Nil(t, response.Patch)
	require.Contains(t, response.Warnings[0], "the object is not a pod")
}

func TestWebhookLooksAtNewPodsOnly(t *testing.T) {
	h, _ := newWebhook(t)
	for name, change := range map[string]func(*admissionv1.AdmissionRequest){
		"update":      func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Update },
		"other kinds": func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "services" },
		"other group": func(r *admissionv1.AdmissionRequest) { r.Resource.Group = "example.com" },
	} {
		t.Run(name, func(t *testing.T) {
			sent := review(t, readPod(t, "testdata/pod/plain.in.yaml"))
			change(sent.Request)
			response, _ := ask(t, h, sent)
			require.Nil(t, response.Patch)
		})
	}
}

func TestWebhookRefusesGarbage(t *testing.T) {
	h, registry := newWebhook(t)
	for name, c := range map[string]struct {
		method, body string
		want         int
	}{
		"get":        {http.MethodGet, "", http.StatusMethodNotAllowed},
		"empty":      {http.MethodPost, "", http.StatusBadRequest},
		"no request": {http.MethodPost, "{}", http.StatusBadRequest},
		"huge":       {http.MethodPost, strings.Repeat(" ", maxReview+1), http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(c.method, WebhookPath, strings.NewReader(c.body)))
			require.Equal(t, c.want, w.Code)
		})
	}
	count, err := testutil.GatherAndCount(registry, "rollcall_injections_total")
	require.NoError(t, err)
	require.Equal(t, 4, count)
	_, err = NewWebhook(WebhookOptions{})
	require.ErrorContains(t, err, "no image of the agent")
}

// Over TLS, with a certificate that the bundle in the webhook's registration verifies under the
// name by which the API server calls it.
func TestServe(t *testing.T) {
	client := fake.NewClientset()
	opts := pki.Options{Namespace: "rollcall-system", Service: "rollcall-coordinator"}
	keeper, err := pki.NewWebhook(client, opts)
	require.NoError(t, err)
	require.NoError(t, keeper.Ensure(t.Context()))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h, _ := newWebhook(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, listener, keeper.TLS(), h, slog.New(slog.DiscardHandler)) }()

	caller := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: keeper.Authority().Pool(), ServerName: "rollcall-coordinator.rollcall-system.svc"},
	}}
	body, err := json.Marshal(review(t, readPod(t, "testdata/pod/plain.in.yaml")))
	require.NoError(t, err)
	resp, err := caller.Post("https://"+listener.Addr().String()+WebhookPath, "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, 2, resp.ProtoMajor)
	require.Contains(t, string(answer), `"allowed":true`)

	cancel()
	require.NoError(t, <-served)
	_, err = net.Dial("tcp", listener.Addr().String())
	require.Error(t, err)
}

func TestServeReportsItsEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	h, _ := newWebhook(t)
	require.ErrorContains(t, Serve(t.Context(), listener, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }}, h, slog.New(slog.DiscardHandler)), "serve the webhook")
}
