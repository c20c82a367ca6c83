package solr

import (
	"fmt"
	"net/http"

	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

var manners = webtest.Manners{
	Changes: func(r *http.Request) bool {
		switch r.FormValue("action") {
		case "ADDREPLICAPROP", "DELETEREPLICAPROP", "REBALANCELEADERS", "REPLACENODE", "DELETESTATUS":
			return true
		}
		return r.URL.Path == pathBalance
	},
	Endless:  `{"responseHeader":{"status":0},"status":"OK","cluster":{"collections":{},"live_nodes":["`,
	Stranger: `{"name":"search-0","cluster_name":"other","version":{"number":"9.9.0"},"status":"green","number_of_nodes":3}`,
	Deny: func(w http.ResponseWriter, token, plain string) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "<html><head><title>Error 401 bad credentials %s %s</title></head></html>", token, plain)
	},
	Fail: func(w http.ResponseWriter, while string) {
		message := "KeeperErrorCode = Session expired for /live_nodes"
		if while == "change" {
			message = "change failed"
		}
		writeFailure(w, http.StatusInternalServerError, message)
	},
}

func writeFailure(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"responseHeader":{"status":%d,"QTime":1},"error":{"metadata":["error-class","org.apache.solr.common.SolrException"],"msg":%q,"code":%d}}`, code, message, code)
}
