package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/stophook"
)

// TestCallersOfTheHookEndNoStopHook checks that who has the pod's token, and calls the hook while
// the kubelet waits for it, joins; the kubelet, who is silent, keeps its connection, or it would
// kill the database at once.
func TestCallersOfTheHookEndNoStopHook(t *testing.T) {
	for name, address := range map[string]func(int) string{
		"from one address": func(int) string { return "127.0.0.2" },
		"from many":        func(i int) string { return fmt.Sprintf("127.0.0.%d", 2+i) },
	} {
		t.Run(name, func(t *testing.T) { callersOfTheHook(t, address) })
	}
}

func callersOfTheHook(t *testing.T, address func(int) string) {
	began, goOn := make(chan struct{}, 100), make(chan struct{})
	served, _ := serveHook(t, func(ctx context.Context, _ string) stophook.Answer {
		began <- struct{}{}
		select {
		case <-goOn:
			return stophook.Answer{Result: stophook.CallJoined, Line: "handed over"}
		case <-ctx.Done():
			return stophook.Answer{Result: stophook.CallJoined, Line: "given up"}
		}
	})
	call := func(from string, says chan<- string) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+served+config.StopPath, nil)
		request.Header.Set(config.StopHeader, "token")
		response, err := client.Do(request)
		if err != nil {
			says <- err.Error()
			return
		}
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(response.Body)
		says <- string(text)
	}
	kubelet, others := make(chan string, 1), make(chan string, 100)
	go call("127.0.0.1", kubelet)
	<-began
	for i := range 2 * HTTPLimits.Known {
		go call(address(i), others)
		<-began
	}
	time.Sleep(time.Second)
	close(goOn)
	require.Equal(t, "handed over\n", <-kubelet)
}

// serveHook serves a stop hook as an agent does, and answers where, with what is counted of it.
func serveHook(t *testing.T, hook func(context.Context, string) stophook.Answer) (address string, m *Metrics) {
	t.Helper()
	site := (&Web{
		Token: "token", Unready: func() []string { return nil }, Gatherer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
		Origins: onNode(),
		Calls:   stophook.NewMetrics(prometheus.NewRegistry()).Calls, Quiet: door.NewQuiet(),
		Hook: hook,
	}).Server("")
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m = NewMetrics(prometheus.NewRegistry())
	listener := door.New(m.Connections, slog.New(slog.DiscardHandler)).Limit("http", inner, HTTPLimits)
	go func() { _ = site.Serve(listener) }()
	t.Cleanup(func() { _ = site.Close() })
	return inner.Addr().String(), m
}
