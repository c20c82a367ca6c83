package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/people"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/status/web"
	"github.com/rollcall-dev/rollcall/test/locked"
)

// world is an API server and a coordinator behind it, as little of both as
// the program sees. The coordinator is reached by port-forward only, with the
// certificates that a real one makes.
type world struct {
	t     *testing.T
	board *status.Board
	dir   string // with the kubeconfig

	mu      sync.Mutex
	objects map[string]any                                // by path
	refuse  func(*http.Request) *metav1.Status            // what the API server does not allow
	serving func(http.ResponseWriter, *http.Request) bool // answers what it says true to
	patched map[string]string                             // bodies of writes by path
	trust   *corev1.Secret                                // for those who show who they are
	kube    *fake.Clientset                               // what the coordinator finds in the API server
	ends    bool                                          // the next message of a watch is refused
	given   []string                                      // what the coordinator was shown of people
	ports   map[string]string                             // addresses of the coordinator, by port of its pod
}

const (
	leasePath    = "/apis/coordination.k8s.io/v1/namespaces/rollcall-system/leases/rollcall-coordinator"
	secretPath   = "/api/v1/namespaces/rollcall-system/secrets/rollcall-reader"
	trustPath    = "/api/v1/namespaces/rollcall-system/secrets/rollcall-trust"
	objectPath   = "/apis/rollcall.dev/v1alpha1/namespaces/prod/databaseclusters/search"
	listPath     = "/apis/rollcall.dev/v1alpha1/namespaces/prod/databaseclusters"
	setsPath     = "/apis/apps/v1/namespaces/prod/statefulsets"
	requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	whoPath      = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
)

func newWorld(t *testing.T, decisions ...status.Decision) *world {
	t.Helper()
	timelines := web.NewTimelines()
	w := &world{
		t: t, board: status.NewBoard(timelines), dir: t.TempDir(),
		objects: map[string]any{}, patched: map[string]string{}, ports: map[string]string{},
	}
	w.board.Lead()
	for _, d := range decisions {
		w.board.Publish(d)
	}

	secrets := fake.NewClientset()
	keeper, err := pki.NewKeeper(secrets, pki.Options{Namespace: "rollcall-system", Service: "rollcall-coordinator"})
	require.NoError(t, err)
	require.NoError(t, keeper.Ensure(t.Context()))
	reader, err := secrets.CoreV1().Secrets("rollcall-system").Get(t.Context(), pki.SecretReader, metav1.GetOptions{})
	require.NoError(t, err)
	w.objects[secretPath] = reader
	w.kube = secrets
	w.trust, err = secrets.CoreV1().Secrets("rollcall-system").Get(t.Context(), pki.SecretTrust, metav1.GetOptions{})
	require.NoError(t, err)
	for _, kind := range []string{"tokenreviews", "subjectaccessreviews"} {
		secrets.PrependReactor("create", kind, w.review)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.ports["7950"] = listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	options := append(people.NewGate(secrets, keeper.Refuses).ServerOptions(), grpc.InTapHandle(w.listen), grpc.ChainStreamInterceptor(w.endOnce))
	server := status.NewServer(w.board, keeper.GateCredentials(), options...)
	go func() { ended <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})

	page := httptest.NewUnstartedServer(web.NewHandler(w.board, timelines))
	page.Listener = tls.NewListener(page.Listener, keeper.ServerTLS())
	page.Start()
	t.Cleanup(page.CloseClientConnections)
	w.ports["7952"] = page.Listener.Addr().String()

	holder, seconds, renewed := "rollcall-coordinator-7", int32(15), metav1.NewMicroTime(time.Now())
	w.objects[leasePath] = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed,
	}}
	w.objects[whoPath] = &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
		UserInfo: authenticationv1.UserInfo{Username: "ada"},
	}}
	w.objects[setsPath] = map[string]any{"kind": "StatefulSetList", "apiVersion": "apps/v1", "items": []any{}}

	// With TLS: to a server without it no credentials of a kubeconfig are sent.
	api := httptest.NewTLSServer(http.HandlerFunc(w.serve))
	t.Cleanup(api.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	kubeconfig := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: w,
contexts: [{name: w, context: {cluster: w, user: w, namespace: prod}}],
clusters: [{name: w, cluster: {server: %q, certificate-authority-data: %s}}], users: [{name: w, user: {token: t}}]}`,
		api.URL, base64.StdEncoding.EncodeToString(authority))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "kubeconfig"), []byte(kubeconfig), 0o600))
	return w
}

// run runs the program and gives its exit status and what it wrote.
func (w *world) run(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	return w.runUntil(w.t.Context(), args...)
}

func (w *world) runUntil(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	r := w.start(ctx, args...)
	return r.end(), r.out.String(), r.errOut.String()
}

// waits runs the program until its --timeout is over. It gives it as long as it
// needs to write what it waits for, however slow the machine is.
func (w *world) waits(text string, args ...string) (timeout, stdout, stderr string) {
	w.t.Helper()
	for limit := time.Second; ; limit *= 4 {
		timeout = limit.String()
		var code int
		code, stdout, stderr = w.run(append(slices.Clone(args), "--timeout", timeout)...)
		require.Equal(w.t, cli.ExitTimedOut, code, stderr)
		if limit > time.Minute || strings.Contains(stdout+stderr, text) {
			require.Contains(w.t, stdout+stderr, text)
			return timeout, stdout, stderr
		}
	}
}

// running is a program that runs.
type running struct {
	t           *testing.T
	out, errOut locked.Buffer
	code        chan int
}

func (w *world) start(ctx context.Context, args ...string) *running {
	r := &running{t: w.t, code: make(chan int, 1)}
	args = append([]string{"rollcall", "--kubeconfig", filepath.Join(w.dir, "kubeconfig")}, args...)
	go func() {
		r.code <- run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &r.out, ErrOut: &r.errOut})
	}()
	return r
}

// says returns when the program has written the text.
func (r *running) says(text string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Contains(r.out.String()+r.errOut.String(), text) }, 2*time.Minute, 5*time.Millisecond,
		"%s is not in what it writes", text)
}

func (r *running) end() int { return <-r.code }

// must runs the program, which has to succeed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	code, stdout, stderr := w.run(args...)
	require.Zero(w.t, code, stderr)
	return stdout
}

// set has the API server answer with an object at a path.
func (w *world) set(path string, object any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[path] = object
}

func (w *world) object(o *v1alpha1.DatabaseCluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind}
	o.Namespace, o.Name = "prod", "search"
	w.objects[objectPath] = o
	w.objects[listPath] = &v1alpha1.DatabaseClusterList{Items: []v1alpha1.DatabaseCluster{*o}}
}

func (w *world) forbid(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = func(r *http.Request) *metav1.Status {
		if !strings.HasPrefix(r.URL.Path, path) {
			return nil
		}
		st := apierrors.NewForbidden(schema.GroupResource{}, path, fmt.Errorf("ada may not")).Status()
		return &st
	}
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	refuse, serving, object := w.refuse, w.serving, w.objects[r.URL.Path]
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	if refuse != nil {
		if st := refuse(r); st != nil {
			answer(rw, *st)
			return
		}
	}
	if serving != nil && serving(rw, r) {
		return
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == requestsPath:
		w.attest(rw, r)
		return
	case strings.HasSuffix(r.URL.Path, "/portforward"):
		w.forward(rw, r)
		return
	case r.Method == http.MethodPatch, r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.patched[r.URL.Path] = string(body)
		object = w.objects[strings.TrimSuffix(r.URL.Path, "/status")]
		w.mu.Unlock()
	}
	if object == nil {
		if strings.HasPrefix(r.URL.Path, listPath) && w.objects[listPath] != nil {
			st := apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.Group, Resource: v1alpha1.Resource}, filepath.Base(r.URL.Path)).Status()
			answer(rw, st)
			return
		}
		rw.Header().Set("Content-Type", "text/plain")
		http.Error(rw, "404 page not found", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(rw).Encode(object)
}

func answer(rw http.ResponseWriter, st metav1.Status) {
	st.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	rw.WriteHeader(int(st.Code))
	_ = json.NewEncoder(rw).Encode(st)
}

// forward is the kubelet's end of a port-forward.
func (w *world) forward(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set(httpstream.HeaderProtocolVersion, "portforward.k8s.io")
	var mu sync.Mutex
	failures := map[string]httpstream.Stream{}
	conn := spdy.NewResponseUpgrader().UpgradeResponse(rw, r, func(stream httpstream.Stream, replySent <-chan struct{}) error {
		id := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
		if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			mu.Lock()
			failures[id] = stream
			mu.Unlock()
			return nil
		}
		port := stream.Headers().Get(corev1.PortHeader)
		go func() {
			<-replySent
			mu.Lock()
			failure := failures[id]
			mu.Unlock()
			defer failure.Close()
			w.mu.Lock()
			address := w.ports[port]
			w.mu.Unlock()
			upstream, err := net.Dial("tcp", address)
			if err != nil {
				fmt.Fprintf(failure, "nobody listens: %v", err)
				return
			}
			defer upstream.Close()
			go func() {
				_, _ = io.Copy(upstream, stream)
				_ = upstream.Close()
			}()
			_, _ = io.Copy(stream, upstream)
			_ = stream.Close()
		}()
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	select {
	case <-conn.CloseChan():
	case <-w.t.Context().Done():
	}
}

// rolling is a database in mid-rollout: search-2 may go, search-0 goes last.
func rolling(t *testing.T, changes ...func(*model.Snapshot)) status.Decision {
	t.Helper()
	report := func(uid string) *model.Report {
		return &model.Report{UID: uid, Self: true, Fresh: true, AgeSeconds: 0.5, Member: model.MembershipLive, Settled: true}
	}
	s, err := model.Decode([]byte(`{"version": 1, "now": "2026-11-20T12:00:00Z",
		"cluster": {"namespace": "prod", "name": "search", "uid": "c1", "spec": {"engine": "Solr", "policy": {"maxUnavailable": 1}}, "status": {"epoch": 3}},
		"pools": [{"name": "search", "replicas": 3, "revision": "v2"}]}`))
	require.NoError(t, err)
	for i := range 3 {
		uid := fmt.Sprint("u", i)
		s.Pods = append(s.Pods, model.Pod{
			Name: fmt.Sprint("search-", i), UID: uid, Pool: "search", Ordinal: int32(i), Zone: fmt.Sprint("z", i), Revision: "v1",
			Phase: model.PodPhaseReady, Agent: true, Guard: model.GuardClosed, EstimateSeconds: 60, Report: report(uid),
		})
	}
	s.Pods[0].Report.Last, s.Pods[0].Report.Roles = true, []string{"overseer"}
	for _, change := range changes {
		change(&s)
	}
	return status.FromSnapshot(s)
}

func finished(s *model.Snapshot) {
	for i := range s.Pods {
		s.Pods[i].Revision = "v2"
	}
}
