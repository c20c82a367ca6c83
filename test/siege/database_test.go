package siege

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// database is a Solr of one node that can answer something else.
type database struct {
	server *httptest.Server
	solr   bool
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request)]
}

const node = "search-0.search.prod.svc:8983_solr"

func newDatabase(t *testing.T) *database {
	d := &database{}
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hostile := d.answer.Load(); hostile != nil {
			(*hostile)(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/solr/admin/info/system":
			fmt.Fprintf(w, `{"mode":"solrcloud","node":%q,"lucene":{"solr-spec-version":"9.9.0"}}`, node)
		case r.URL.Path == "/solr/admin/info/health":
			fmt.Fprint(w, `{"responseHeader":{"status":0},"status":"OK"}`)
		case r.FormValue("action") == "CLUSTERSTATUS":
			fmt.Fprintf(w, `{"cluster":{"live_nodes":[%q],"collections":{"books":{"router":{"name":"compositeId"},"shards":{"shard1":{"range":"80000000-7fffffff","state":"active",
"replicas":{"core_node1":{"core":"books_shard1_replica_n1","node_name":%q,"type":"NRT","state":"active","leader":"true","base_url":"http://search-0:8983"}}}}}}}}`, node, node)
		case r.FormValue("action") == "OVERSEERSTATUS":
			fmt.Fprintf(w, `{"leader":%q}`, node)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		d.server.CloseClientConnections()
		d.server.Close()
	})
	return d
}

// identity is what an agent asks before it asks for more.
const identity = `"mode":"solrcloud","node":"` + node + `","lucene":{"solr-spec-version":"9.9.0"},"name":"search-0","cluster_name":"c","cluster_uuid":"u","version":{"number":"3.0.0"},"state_uuid":"s"`

// answers are those of a hostile database. Each of them goes to every question.
var answers = []struct {
	name  string
	write func(http.ResponseWriter, *http.Request)
	slow  bool
	short string // the engine for which it is part of the short siege
}{
	{"deep arrays", endless(`{`+identity+`,"cluster":`, "["), false, "OpenSearch"},
	{"deep objects", endless(`{`+identity+`,"cluster":`, `{"a":`), false, ""},
	{"an endless list", endless(`{`+identity+`,"cluster":{"live_nodes":["a"`, `,""`), false, "Solr"},
	{"an endless word", endless(`{`+identity+`,"cluster":{"live_nodes":["`, "a"), false, ""},
	{"endless collections", counted(`{`+identity+`,"cluster":{"collections":{"c":{}`, `,"%x":{"shards":{"s":{"replicas":{"r":{}}}}}`), false, ""},
	{"endless replicas", counted(`{`+identity+`,"cluster":{"live_nodes":["a"],"collections":{"c":{"shards":{"s":{"replicas":{"r":{}`, `,"%x":{}`), false, ""},
	{"endless nodes", counted(`{`+identity+`,"nodes":{"n":{}`, `,"%x":{}`), false, ""},
	{"endless shards", counted(`{`+identity+`,"routing_table":{"indices":{"i":{"shards":{"0":[{}]`, `,"%x":[{},{},{},{}]`), false, ""},
	{"endless indices", counted(`{`+identity+`,"routing_table":{"indices":{"i":{}`, `,"%x":{"shards":{"0":[{}]}}`), false, ""},
	{"endless unknown fields", counted(`{`+identity, `,"%x":{}`), false, ""},
	{"a great deal that is compressed", compressed, false, ""},
	{"a great many headers", headers, false, ""},
	{"a long refusal", refusal, false, ""},
	{"a byte each second", slow, true, "Solr"},
	{"nothing", silent, true, ""},
}

const longest = 80 << 20 // more than any adapter reads

// endless repeats a unit.
func endless(prefix, unit string) func(http.ResponseWriter, *http.Request) {
	block := strings.Repeat(unit, 32<<10/len(unit))
	return func(w http.ResponseWriter, _ *http.Request) { pour(w, prefix, func(int) string { return block }) }
}

// counted repeats a unit with a number in it.
func counted(prefix, unit string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		n := 0
		pour(w, prefix, func(int) string {
			var block strings.Builder
			for block.Len() < 32<<10 {
				n++
				fmt.Fprintf(&block, unit, n)
			}
			return block.String()
		})
	}
}

func pour(w io.Writer, prefix string, next func(int) string) {
	if _, err := io.WriteString(w, prefix); err != nil {
		return
	}
	for sent := 0; sent < longest; {
		n, err := io.WriteString(w, next(sent))
		if err != nil {
			return
		}
		sent += n
	}
}

func compressed(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		endless(`{"cluster":{"live_nodes":["a"`, `,""`)(w, r)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	defer z.Close()
	pour(z, `{`+identity+`,"cluster":{"live_nodes":["a"`, func(int) string { return strings.Repeat(`,""`, 10_000) })
}

func headers(w http.ResponseWriter, _ *http.Request) {
	for i := range 400_000 {
		w.Header().Set(fmt.Sprintf("X-%X", i), "")
	}
	fmt.Fprint(w, "{}")
}

func refusal(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	pour(w, `{"error":{"msg":"`, func(int) string { return strings.Repeat("no ", 10_000) })
}

func slow(w http.ResponseWriter, r *http.Request) {
	for _, b := range []byte(`{` + identity + `,"cluster":{"live_nodes":[]}}`) {
		if _, err := w.Write([]byte{b}); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
