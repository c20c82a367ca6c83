package opensearch

import (
	"fmt"
	"net/http"

	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

var manners = webtest.Manners{
	Changes:  func(r *http.Request) bool { return r.Method != http.MethodGet && r.URL.Path != pathFlush },
	Endless:  `{"state_uuid":"s","master_node":"id-0","nodes":{"id-0":{"name":"`,
	Stranger: `{"responseHeader":{"status":0},"mode":"solrcloud","node":"db-0:8983_solr","status":"OK","cluster":{"live_nodes":["db-0:8983_solr"]}}`,
	Deny: func(w http.ResponseWriter, token, plain string) {
		writeFailure(w, http.StatusUnauthorized, "security_exception", fmt.Sprintf("bad credentials %s %s", token, plain))
	},
	Fail: func(w http.ResponseWriter, while string) {
		if while == "change" {
			writeFailure(w, http.StatusInternalServerError, "exception", "change failed")
			return
		}
		writeFailure(w, http.StatusServiceUnavailable, "cluster_manager_not_discovered_exception", "")
	},
}

func writeFailure(w http.ResponseWriter, code int, kind, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"error":{"root_cause":[{"type":%[1]q,"reason":%[2]q}],"type":%[1]q,"reason":%[2]q},"status":%[3]d}`, kind, reason, code)
}
