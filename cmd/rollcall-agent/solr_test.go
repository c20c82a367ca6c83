package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fakeSolr returns what an agent asks of a node of a database with 50 nodes and 1,000 replicas: 250
// shards of four copies.
func fakeSolr(t testing.TB, node string, nodes, shards int) *httptest.Server {
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("search-%d.search.prod.svc:8983_solr", i)
	}
	names[0] = node
	var status strings.Builder
	status.WriteString(`{"cluster":{"live_nodes":["` + strings.Join(names, `","`) + `"],"collections":{`)
	const perCollection = 10
	for s := range shards {
		if s%perCollection == 0 {
			if s > 0 {
				status.WriteString(`}},`)
			}
			fmt.Fprintf(&status, `"books%d":{"pullReplicas":"0","configName":"_default","replicationFactor":4,"router":{"name":"compositeId"},"nrtReplicas":4,"tlogReplicas":0,"shards":{`, s/perCollection)
		} else {
			status.WriteString(",")
		}
		fmt.Fprintf(&status, `"shard%d":{"range":"80000000-ffffffff","state":"active","replicas":{`, s%perCollection+1)
		for r := range 4 {
			if r > 0 {
				status.WriteString(",")
			}
			on := names[(s*4+r)%nodes]
			fmt.Fprintf(&status, `"core_node%d":{"core":"books%d_shard%d_replica_n%d","node_name":%q,"type":"NRT","state":"active","force_set_state":"false","base_url":"http://%s"`,
				s*4+r, s/perCollection, s%perCollection+1, r, on, strings.TrimSuffix(on, "_solr"))
			if r == 0 {
				status.WriteString(`,"leader":"true"`)
			}
			status.WriteString("}")
		}
		status.WriteString("}}")
	}
	status.WriteString(`}}}}}`)
	body := status.String()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/solr/admin/info/system":
			fmt.Fprintf(w, `{"mode":"solrcloud","node":%q,"lucene":{"solr-spec-version":"9.9.0"}}`, node)
		case r.URL.Path == "/solr/admin/info/health":
			fmt.Fprint(w, `{"responseHeader":{"status":0},"status":"OK"}`)
		case r.FormValue("action") == "CLUSTERSTATUS":
			fmt.Fprint(w, body)
		case r.FormValue("action") == "OVERSEERSTATUS":
			fmt.Fprintf(w, `{"leader":%q}`, names[1])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}
