package agent

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/door"
)

// TestStrangersEndNoStopHook: the kubelet says nothing while the hook runs, and is not
// taken for somebody silent. Strangers who hold all there is, from its own address even,
// keep neither it nor a look at /healthz out.
func TestStrangersEndNoStopHook(t *testing.T) {
	require.Positive(t, httpLimits.Grace, "a kubelet calls once, and what it sends must be read: see door.TestWhoHasJustComeIsRead")
	began, goOn := make(chan struct{}), make(chan struct{})
	site := (&web{
		token: "token", unready: func() []string { return nil }, gatherer: prometheus.NewRegistry(), logger: slog.New(slog.DiscardHandler),
		origins: origins{named: func() []netip.Prefix { return nil }, gateways: defaultGateways},
		calls:   newMetrics(prometheus.NewRegistry(), "test", func() time.Duration { return 0 }).stopCalls, quiet: door.NewQuiet(),
		hook: func(ctx context.Context, _ string) answer {
			close(began)
			select {
			case <-goOn:
				return answer{callTaken, "handed over"}
			case <-ctx.Done():
				return answer{callTaken, "given up"}
			}
		},
	}).server("")
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := newMetrics(prometheus.NewRegistry(), "test", func() time.Duration { return 0 })
	listener := door.New(m.connections, slog.New(slog.DiscardHandler)).Limit("http", inner, httpLimits)
	go func() { _ = site.Serve(listener) }()
	t.Cleanup(func() { _ = site.Close() })

	says := make(chan string, 1)
	go func() {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+inner.Addr().String()+config.StopPath, nil)
		request.Header.Set(config.StopHeader, "token")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			says <- err.Error()
			return
		}
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(response.Body)
		says <- string(text)
	}()
	<-began
	for range 100 {
		stranger, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = stranger.Close() })
		_, err = stranger.Write([]byte("GET /healthz HTTP/1.1\r\nA: "))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		return testutil.ToFloat64(m.connections.WithLabelValues("http", "peer")) > 80
	}, 10*time.Second, 10*time.Millisecond)
	kubelet := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := kubelet.Get("http://" + inner.Addr().String() + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	close(goOn)
	require.Equal(t, "handed over\n", <-says)
}
