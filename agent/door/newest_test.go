package door

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSlowReadersKeepNobodyOut, nor hold more answers in memory than are served at a time.
func TestSlowReadersKeepNobodyOut(t *testing.T) {
	var held atomic.Int32
	answer := bytes.Repeat([]byte("a"), 32<<20) // more than the kernel takes
	server := httptest.NewServer(Newest(2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held.Add(1)
		defer held.Add(-1)
		if r.URL.Path == "/short" {
			_, _ = w.Write([]byte("ok"))
			return
		}
		_, _ = w.Write(answer)
	})))
	defer server.CloseClientConnections()
	for range 20 {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return held.Load() == 2 }, 10*time.Second, 10*time.Millisecond)
	response, err := http.Get(server.URL + "/short")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "ok", string(text))
}

// TestHastyReadersKeepNobodyOut checks that a stranger who asks again and again, and reads, has the
// connections that one address may have; Prometheus, from another, reads its answer to the end.
func TestHastyReadersKeepNobodyOut(t *testing.T) {
	answer := bytes.Repeat([]byte("a"), 1<<20)
	server := httptest.NewUnstartedServer(Newest(4, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(20 * time.Millisecond) // to gather
		_, _ = w.Write(answer)
	})))
	server.Config.ConnContext = ConnContext
	server.Start()
	defer server.CloseClientConnections()
	from := func(address string) *http.Client {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: 10 * time.Second}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 16 {
		go func() {
			client := from("127.0.0.2")
			for ctx.Err() == nil {
				request, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
				if response, err := client.Do(request); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}
		}()
	}
	time.Sleep(200 * time.Millisecond)
	prometheus, whole := from("127.0.0.1"), 0
	for range 20 {
		response, err := prometheus.Get(server.URL)
		if err != nil {
			continue
		}
		if text, err := io.ReadAll(response.Body); err == nil && len(text) == len(answer) {
			whole++
		}
		_ = response.Body.Close()
	}
	require.Greater(t, whole, 15, "of 20 scrapes")
}
