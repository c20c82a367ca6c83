package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/test/locked"
	"github.com/rollcall-dev/rollcall/test/race"
)

// envFlooded makes the test's program run as a coordinator with this kubeconfig.
const envFlooded = "ROLLCALL_TEST_FLOODED"

// TestFlooded is the coordinator of TestFloodLeavesTheLeaderItsTurns, in a process of its own.
func TestFlooded(t *testing.T) {
	kubeconfig := os.Getenv(envFlooded)
	if kubeconfig == "" {
		t.Skip("it is started by TestFloodLeavesTheLeaderItsTurns")
	}
	o := options{
		namespace: "rollcall-system", identity: "flooded", service: "rollcall-coordinator", agentImage: "agent:1", pullPolicy: "Always",
		grpcAddr: "127.0.0.1:0", httpAddr: "127.0.0.1:0", webhook: os.Getenv(envFlooded + "_WEBHOOK"), kubeconfig: kubeconfig, logLevel: "warn",
	}
	require.NoError(t, run(t.Context(), o, slog.New(slog.NewTextHandler(os.Stderr, nil))))
}

// TestFloodLeavesTheLeaderItsTurns floods the webhook with handshakes and reviews of real pods from
// many addresses. The flood takes processor time from the leader, but no more than its share of a
// queue: on a single processor the leader renews its lease and never loses it, and decides on a
// DatabaseCluster as it changes. The numbers are compared with what is required in the same time.
func TestFloodLeavesTheLeaderItsTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("floods of a quarter of a minute")
	}
	race.Heavy(t)
	// Sixty connections are never too many for the listener. Of more some are ended, mostly in the
	// middle of something.
	t.Run("as much as is let in", func(t *testing.T) { flooded(t, 12, 48) })
	t.Run("more than is let in", func(t *testing.T) { flooded(t, 256, 64) })
}

func flooded(t *testing.T, handshakes, reviews int) {
	api := newStore()
	server := httptest.NewServer(api)
	defer server.Close()
	defer api.end()
	api.put("/apis/rollcall.dev/v1alpha1/namespaces/prod/databaseclusters/search", map[string]any{
		"apiVersion": "rollcall.dev/v1alpha1", "kind": "DatabaseCluster", "spec": map[string]any{"engine": "Solr"},
		"metadata": map[string]any{"name": "search", "namespace": "prod", "uid": "u1", "generation": 1},
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "%s"}}]}`, server.URL), 0o600))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	webhook := free.Addr().String()
	require.NoError(t, free.Close())

	var log locked.Buffer
	child := exec.Command(os.Args[0], "-test.run=^TestFlooded$", "-test.timeout=10m")
	child.Env = append(os.Environ(), "GOMAXPROCS=1", "GOMEMLIMIT=256MiB", envFlooded+"="+kubeconfig, envFlooded+"_WEBHOOK="+webhook)
	child.Stdout, child.Stderr = &log, &log
	require.NoError(t, child.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait()
	}()
	defer func() {
		_ = child.Process.Kill()
		<-ended
	}()
	alive := func() bool {
		select {
		case <-ended:
			return false
		default:
			return true
		}
	}
	require.Eventually(t, func() bool { return !alive() || api.renewals() > 0 && api.decided() == api.generation() }, time.Minute, 50*time.Millisecond,
		"it leads: %s", &log)
	acquired := api.acquired()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var shaken, answered atomic.Int64
	flooding := flood(ctx, webhook, handshakes, reviews, &shaken, &answered)
	renewed, decisions, began := api.renewals(), 0, time.Now()
	const wanted = 4 // renewals, one in two seconds while nothing is in the way
	// On a busy machine handshakes leave reviews no turn for some seconds.
	for (api.renewals() < renewed+wanted || answered.Load() == 0) && alive() && time.Since(began) < 2*time.Minute {
		generation := api.change()
		require.Eventually(t, func() bool { return !alive() || api.decided() >= generation }, time.Minute, 20*time.Millisecond,
			"it decides on generation %d: %s", generation, &log)
		decisions++
	}
	took := time.Since(began)
	stop()
	flooding.Wait()
	require.True(t, alive(), "%s", &log)
	t.Logf("in %s: %d renewals, %d decisions, while there were %d handshakes and %d reviews answered",
		took.Round(100*time.Millisecond), api.renewals()-renewed, decisions, shaken.Load(), answered.Load())
	require.Equal(t, acquired, api.acquired(), "it has led without a gap: %s", &log)
	require.Positive(t, answered.Load())
	require.Greater(t, shaken.Load()+answered.Load(), int64(20*wanted), "that was no flood")
	require.GreaterOrEqual(t, 3*(api.renewals()-renewed), int(took/(2*time.Second)), "a third of all renewals at least")
}

// flood sends from sixteen addresses, over so many connections at a time.
func flood(ctx context.Context, webhook string, handshakes, reviews int, shaken, answered *atomic.Int64) *sync.WaitGroup {
	small, large := reviewOf(1), reviewOf(400)
	var all sync.WaitGroup
	repeat := func(n int, do func(i int, dialer *tls.Dialer)) {
		for i := range n {
			dialer := &tls.Dialer{
				NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 0, byte(1+i%16))}, Timeout: 10 * time.Second},
				Config:    &tls.Config{InsecureSkipVerify: true}, // an attacker does not verify the server
			}
			all.Go(func() {
				for ctx.Err() == nil {
					do(i, dialer)
				}
			})
		}
	}
	repeat(handshakes, func(_ int, dialer *tls.Dialer) {
		conn, err := dialer.DialContext(ctx, "tcp", webhook)
		if err == nil {
			shaken.Add(1)
			_ = conn.Close()
		}
	})
	repeat(reviews, func(i int, dialer *tls.Dialer) {
		transport := &http.Transport{DialTLSContext: dialer.DialContext}
		defer transport.CloseIdleConnections()
		body := small
		if i%2 == 0 {
			body = large
		}
		for ctx.Err() == nil {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+webhook+inject.WebhookPath, bytes.NewReader(body))
			if err != nil {
				return
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			answered.Add(1)
		}
	})
	return &all
}

// reviewOf a pod of the database, with so many containers.
func reviewOf(containers int) []byte {
	one := `{"name":"solr","image":"solr:9","env":[` + strings.Repeat(`{"name":"A","value":"b"},`, 30) + `{"name":"B","value":"c"}]}`
	return fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","namespace":"prod","operation":"CREATE",
"resource":{"version":"v1","resource":"pods"},"object":{"metadata":{"name":"search-0","labels":{"rollcall.dev/cluster":"search"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"search","uid":"s","controller":true}]},"spec":{"containers":[%s]}}}}`,
		strings.TrimSuffix(strings.Repeat(one+",", containers), ","))
}
