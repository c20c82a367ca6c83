package door

import (
	"bytes"
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
