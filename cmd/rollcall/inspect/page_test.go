package inspect

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwnHost checks that the port may be missing for HTTP only, as browsers leave it out.
func TestOwnHost(t *testing.T) {
	for host, want := range map[string]int{
		"localhost:8951": 200, "127.0.0.1:8951": 200, "[::1]:8951": 200,
		"localhost": 421, "localhost:80": 421, "evil.example:8951": 421, "127.0.0.1.evil.example:8951": 421, "": 421,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(""))
		r.Host = host
		ownHost(8951, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		require.Equal(t, want, w.Code, host)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(""))
	r.Host = "localhost"
	ownHost(80, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
}
