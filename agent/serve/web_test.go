package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/stophook"
)

// TestStrangersEndNoStopHook checks that the kubelet says nothing while the hook runs, and is not
// taken for somebody silent. Strangers who hold all there is, from its own address even, keep
// neither it nor a look at /healthz out.
func TestStrangersEndNoStopHook(t *testing.T) {
	require.Positive(t, HTTPLimits.Grace, "a kubelet calls once, and what it sends must be read: see door.TestWhoHasJustComeIsRead")
	began, goOn := make(chan struct{}), make(chan struct{})
	address, m := serveHook(t, func(ctx context.Context, _ string) stophook.Answer {
		close(began)
		select {
		case <-goOn:
			return stophook.Answer{Result: stophook.CallTaken, Line: "handed over"}
		case <-ctx.Done():
			return stophook.Answer{Result: stophook.CallTaken, Line: "given up"}
		}
	})

	says := make(chan string, 1)
	go func() {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+config.StopPath, nil)
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
		stranger, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = stranger.Close() })
		_, err = stranger.Write([]byte("GET /healthz HTTP/1.1\r\nA: "))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		return testutil.ToFloat64(m.Connections.WithLabelValues("http", "peer")) > 80
	}, 10*time.Second, 10*time.Millisecond)
	kubelet := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := kubelet.Get("http://" + address + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	close(goOn)
	require.Equal(t, "handed over\n", <-says)
}
