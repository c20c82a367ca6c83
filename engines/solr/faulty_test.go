package solr

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// faulty stands before a Solr, fake or real, and misbehaves when told to.
type faulty struct {
	http.Handler
	changes *changes

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
			writeFailure(w, http.StatusInternalServerError, "change failed")
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
		fmt.Fprint(w, `{"responseHeader":{"status":0},"status":"OK","cluster":{"collections":{},"live_nodes":["`)
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
		fmt.Fprint(w, `{"name":"search-0","cluster_name":"other","version":{"number":"9.9.0"},"status":"green","number_of_nodes":3}`)
	case enginetest.Denied:
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, _ := base64.StdEncoding.DecodeString(token)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "<html><head><title>Error 401 bad credentials %s %s</title></head></html>", token, plain)
	case enginetest.Failing:
		writeFailure(w, http.StatusInternalServerError, "KeeperErrorCode = Session expired for /live_nodes")
	}
}

func isChange(r *http.Request) bool {
	switch r.FormValue("action") {
	case "ADDREPLICAPROP", "DELETEREPLICAPROP", "REBALANCELEADERS", "REPLACENODE", "DELETESTATUS":
		return true
	}
	return r.URL.Path == pathBalance
}

// changes lets so many through; negative: all.
type changes struct {
	mu   sync.Mutex
	left int
}

func (c *changes) set(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
}

func (c *changes) allow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left > 0 {
		c.left--
		return true
	}
	return c.left < 0
}

func writeFailure(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"responseHeader":{"status":%d,"QTime":1},"error":{"metadata":["error-class","org.apache.solr.common.SolrException"],"msg":%q,"code":%d}}`, code, message, code)
}
