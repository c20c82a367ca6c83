package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/coordinator/status"
)

var quiet = slog.New(slog.DiscardHandler)

func TestFlagsAreChecked(t *testing.T) {
	good := options{namespace: "n", identity: "i", agentImage: "a", service: "s", grpcAddr: ":1", httpAddr: ":2", webhook: ":3", logLevel: "info"}
	_, err := good.validate()
	require.NoError(t, err)
	for want, change := range map[string]func(*options){
		"--namespace is empty":                func(o *options) { o.namespace = "" },
		"--identity is empty":                 func(o *options) { o.identity = "" },
		"--agent-image is empty":              func(o *options) { o.agentImage = "" },
		"--service-name is empty":             func(o *options) { o.service = "" },
		`--grpc-addr is "7950": must be host`: func(o *options) { o.grpcAddr = "7950" },
		`--http-addr is "": must be host`:     func(o *options) { o.httpAddr = "" },
		`--page-addr is "7": must be host`:    func(o *options) { o.pageAddr = "7" },
		`--webhook-addr is "x": must be host`: func(o *options) { o.webhook = "x" },
		`--api-qps is -1: must be a n`:        func(o *options) { o.apiQPS = -1 },
		`--max-restarts is -1: must be a n`:   func(o *options) { o.maxRestart = -1 },
		`--log-level is "loud": must be deb`:  func(o *options) { o.logLevel = "loud" },
		`--gossip-cidrs has "10.0.0": must`:   func(o *options) { o.gossip = []string{"10.1.0.0/16", "10.0.0"} },
		`--stop-hook-cidrs has "node": mu`:    func(o *options) { o.stopHook = []string{"node"} },
		`must be plain IPv4, such as 10.244`:  func(o *options) { o.gossip = []string{"::ffff:10.0.0.0/104"} },
		`a network: 10.1.0.0/16 may be me`:    func(o *options) { o.gossip = []string{"10.1.2.3/16"} },
	} {
		o := good
		change(&o)
		_, err := o.validate()
		require.ErrorContains(t, err, want)
	}
}

// The manifests pass these flags; their names and defaults are what people rely on.
func TestFlags(t *testing.T) {
	flags := newCommand().Flags()
	for name, value := range map[string]string{
		"namespace": "rollcall-system", "agent-image": "", "grpc-addr": ":7950", "http-addr": ":7951", "page-addr": ":7952",
		"webhook-addr": ":9443", "webhook-client-ca": "", "service-name": "rollcall-coordinator", "kubeconfig": "", "log-level": "info", "max-restarts": "0", "api-qps": "0", "gossip-cidrs": "[]", "stop-hook-cidrs": "[]",
	} {
		flag := flags.Lookup(name)
		require.NotNil(t, flag, name)
		require.Equal(t, value, flag.DefValue, name)
	}
	require.NotNil(t, flags.Lookup("identity"))
}

func TestNoAPIServerIsAnError(t *testing.T) {
	command := newCommand()
	command.SetArgs([]string{"--agent-image=a", "--kubeconfig=" + t.TempDir() + "/none"})
	require.ErrorContains(t, command.ExecuteContext(t.Context()), "API server configuration")
}

func TestPartsEndInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		parts := func(failing string) (list []part) {
			for _, name := range []string{"a", "b", "c"} {
				list = append(list, part{name, func(ctx context.Context) error {
					if name == failing {
						return errors.New("cannot go on")
					}
					<-ctx.Done()
					mu.Lock()
					defer mu.Unlock()
					order = append(order, name)
					return nil
				}})
			}
			return list
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, stop)
		require.NoError(t, runParts(ctx, quiet, parts("")))
		require.Equal(t, []string{"c", "b", "a"}, order)

		order = nil
		err := runParts(t.Context(), quiet, parts("b"))
		require.ErrorContains(t, err, "b: "+errNoPart.Error())
		require.ErrorContains(t, err, "cannot go on")
		require.Equal(t, []string{"c", "a"}, order)
	})
}

func TestHealthReadinessAndMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	newMetrics(registry)
	var ready error
	server := httptest.NewServer(newHandler(registry, func() error { return ready }))
	defer server.Close()
	get := func(path string) int {
		response, err := http.Get(server.URL + path)
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode
	}
	require.Equal(t, 200, get("/healthz"))
	require.Equal(t, 200, get("/readyz"))
	require.Equal(t, 200, get("/metrics"))
	require.Equal(t, 404, get("/"))
	ready = errors.New("not yet")
	require.Equal(t, 503, get("/readyz"))
	require.Equal(t, 200, get("/healthz"), "a coordinator that waits is alive")
}

func TestServingEndsWithItsContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveHTTP(ctx, listener, http.NotFoundHandler(), quiet) }()
	stop()
	require.NoError(t, <-done)
}

func TestWritesAreCounted(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry())
	transport := m.countWrites(roundTripper(func(*http.Request) (*http.Response, error) { return &http.Response{}, nil }))
	for _, r := range [][2]string{
		{"GET", "/api/v1/pods"},
		{"PATCH", "/api/v1/namespaces/n/pods/p"},
		{"DELETE", "/api/v1/namespaces/n/pods/p"},
		{"POST", "/api/v1/namespaces/n/pods/p/eviction"},
		{"POST", "/api/v1/namespaces/n/secrets"},
		{"PUT", "/apis/rollcall.dev/v1alpha1/namespaces/n/databaseclusters/d/status"},
		{"POST", "/apis/events.k8s.io/v1/namespaces/n/events"},
		{"POST", "/apis/authentication.k8s.io/v1/tokenreviews"},
		{"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"},
	} {
		_, err := transport.RoundTrip(httptest.NewRequest(r[0], r[1], nil))
		require.NoError(t, err)
	}
	for _, verb := range []string{"create", "update", "patch", "delete", "evict"} {
		require.EqualValues(t, 1, testutil.ToFloat64(m.writes.WithLabelValues(verb)), verb)
	}
}

func TestAnnouncer(t *testing.T) {
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "other"}, Status: corev1.PodStatus{PodIP: "10.0.0.7"}})
	board := status.NewBoard()
	a := &announcer{ctx: t.Context(), client: client, board: board, log: quiet,
		options: options{namespace: "n", identity: "me", grpcAddr: ":7950"}}
	address := func() string {
		_, leader := board.Leader()
		return leader
	}
	a.heard("other")
	require.Equal(t, "10.0.0.7:7950", address())
	a.heard("gone")
	require.Empty(t, address())

	// Late news of another leader does not end our own leadership.
	stop := a.lead()
	board.Lead()
	a.heard("other")
	leads, _ := board.Leader()
	require.True(t, leads)
	stop()
	a.heard("me")
	a.heard("other")
	require.Equal(t, "10.0.0.7:7950", address())
}
