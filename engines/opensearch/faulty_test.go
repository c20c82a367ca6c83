package opensearch

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// faulty stands before an OpenSearch, fake or real, and misbehaves when told to.
type faulty struct {
	http.Handler
	changes *allowance

	mu    sync.Mutex
	fault enginetest.Fault
}

func (f *faulty) set(fault enginetest.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	switch fault {
	case enginetest.Healthy:
		if isChange(r) && !f.changes.allow() {
			writeFailure(w, http.StatusInternalServerError, "exception", "change failed")
			return
		}
		f.Handler.ServeHTTP(w, r)
	case enginetest.Gone:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	case enginetest.Hung:
		<-r.Context().Done()
	case enginetest.Garbage:
		fmt.Fprint(w, "\x00\x01\xfe{]not what was asked for")
	case enginetest.Endless:
		fmt.Fprint(w, `{"state_uuid":"s","master_node":"id-0","nodes":{"id-0":{"name":"`)
		for chunk := strings.Repeat("a", 32<<10); ; {
			if _, err := fmt.Fprint(w, chunk); err != nil {
				return
			}
		}
	case enginetest.Truncated:
		whole := httptest.NewRecorder()
		f.Handler.ServeHTTP(whole, r)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	case enginetest.WrongServer:
		fmt.Fprint(w, `{"responseHeader":{"status":0},"mode":"solrcloud","node":"db-0:8983_solr","status":"OK","cluster":{"live_nodes":["db-0:8983_solr"]}}`)
	case enginetest.Denied:
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, _ := base64.StdEncoding.DecodeString(token)
		writeFailure(w, http.StatusUnauthorized, "security_exception", fmt.Sprintf("bad credentials %s %s", token, plain))
	case enginetest.Failing:
		writeFailure(w, http.StatusServiceUnavailable, "cluster_manager_not_discovered_exception", "")
	}
}

func isChange(r *http.Request) bool { return r.Method != http.MethodGet && r.URL.Path != pathFlush }

// allowance lets so many changes through; negative: all.
type allowance struct {
	mu   sync.Mutex
	left int
}

func (c *allowance) set(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
}

func (c *allowance) allow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left > 0 {
		c.left--
		return true
	}
	return c.left < 0
}

func writeFailure(w http.ResponseWriter, code int, kind, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error":{"root_cause":[{"type":%[1]q,"reason":%[2]q}],"type":%[1]q,"reason":%[2]q},"status":%[3]d}`, kind, reason, code)
}
