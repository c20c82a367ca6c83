package solr

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

var recordedVersions = solrtest.Versions

var record = flag.Bool("record", false, "write answers of real servers to testdata/recorded")

// TestRecord starts a real cluster of each version, brings it into the situations
// that matter, and writes down what it answers.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("rewrites testdata/recorded; run with -record")
	}
	for _, v := range recordedVersions {
		t.Run(v, func(t *testing.T) { recordVersion(t, v) })
	}
}

type recorder struct {
	*testing.T
	dir string
}

func recordVersion(t *testing.T, version string) {
	r := recorder{t, filepath.Join("testdata", "recorded", version)}
	require.NoError(t, os.MkdirAll(r.dir, 0o755))
	c := solrtest.Start(t, solrtest.Options{Versions: []string{version, version, version}, SessionTimeout: 10 * time.Second})
	n := c.Nodes[0]
	r.get("cluster-status-empty", n, pathCollections, "action", "CLUSTERSTATUS")
	n.Create("books", "numShards", "2", "nrtReplicas", "3")
	n.Create("pages", "numShards", "1", "tlogReplicas", "2", "pullReplicas", "1")
	r.get("system", n, pathSystem)
	r.get("health-ok", n, pathHealth, "requireHealthyCores", "true")
	if strings.HasPrefix(version, "10.") {
		r.raw("metrics", n, pathMetrics, "wt", "prometheus", "name", metricIndexSize)
	} else {
		r.get("metrics", n, pathMetrics, "group", "core", "prefix", "INDEX.sizeInBytes", "compact", "true")
	}
	r.get("cluster-status-green", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")
	r.get("overseer-status", n, pathCollections, "action", "OVERSEERSTATUS")
	r.get("commit", n, "/solr/books/update", "commit", "true", "openSearcher", "false", "waitSearcher", "false")

	name, shard, to := r.follower(n, "pages")
	property := func(action, property string, more ...string) {
		r.get("property-"+action+"-"+property, n, pathCollections, append([]string{"action", action, "collection", name, "shard", shard, "replica", to, "property", property}, more...)...)
	}
	property("ADDREPLICAPROP", "rollcall", "property.value", "claim-1/"+n.Name+"/")
	property("ADDREPLICAPROP", "preferredLeader", "property.value", "true")
	time.Sleep(time.Second)
	r.get("cluster-status-preferred", n, pathCollections, "action", "CLUSTERSTATUS", "collection", name)
	r.get("rebalance-leaders", n, pathCollections, "action", "REBALANCELEADERS", "collection", name)
	r.get("rebalance-leaders-again", n, pathCollections, "action", "REBALANCELEADERS", "collection", name)
	property("DELETEREPLICAPROP", "preferredLeader")
	property("DELETEREPLICAPROP", "rollcall")
	r.get("property-of-no-replica", n, pathCollections, "action", "ADDREPLICAPROP", "collection", name, "shard", shard, "replica", "core_node99", "property", "x", "property.value", "true")
	r.get("cluster-status-no-collection", n, pathCollections, "action", "CLUSTERSTATUS", "collection", "none")

	r.get("task-notfound", n, pathCollections, "action", "REQUESTSTATUS", "requestid", "task-1")
	n.Create("moved", "numShards", "1", "nrtReplicas", "2", "createNodeSet", n.Name+","+c.Nodes[2].Name)
	r.get("replace-node-failed-submit", n, pathCollections, "action", "REPLACENODE", "sourceNode", "10.0.0.1:1_solr", "async", "task-0")
	time.Sleep(2 * time.Second)
	r.get("task-failed", n, pathCollections, "action", "REQUESTSTATUS", "requestid", "task-0")
	r.get("replace-node", n, pathCollections, "action", "REPLACENODE", "sourceNode", n.Name, "parallel", "true", "waitForFinalState", "true", "async", "task-1")
	r.get("replace-node-again", n, pathCollections, "action", "REPLACENODE", "sourceNode", n.Name, "async", "task-1")
	r.get("task-running", n, pathCollections, "action", "REQUESTSTATUS", "requestid", "task-1")
	r.get("cluster-status-moving", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")
	require.Eventually(t, func() bool {
		return strings.Contains(string(n.Collections("REQUESTSTATUS", "requestid", "task-1")), "completed")
	}, 3*time.Minute, time.Second)
	r.get("task-completed", n, pathCollections, "action", "REQUESTSTATUS", "requestid", "task-1")
	r.get("task-forgotten", n, pathCollections, "action", "DELETESTATUS", "requestid", "task-1")
	r.get("task-forgotten-unknown", n, pathCollections, "action", "DELETESTATUS", "requestid", "task-1")
	r.get("cluster-status-moved", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")
	body, status, err := n.PostJSON(pathBalance, `{"nodes":[],"waitForFinalState":true,"async":"task-2"}`)
	require.NoError(t, err)
	r.write("balance", "POST "+pathBalance, status, body)
	require.Eventually(t, func() bool {
		said := string(n.Collections("REQUESTSTATUS", "requestid", "task-2"))
		return !strings.Contains(said, "running") && !strings.Contains(said, "submitted")
	}, 3*time.Minute, time.Second)
	r.get("task-balanced", n, pathCollections, "action", "REQUESTSTATUS", "requestid", "task-2")

	n.Collections("SPLITSHARD", "collection", "moved", "shard", "shard1")
	r.get("cluster-status-split", n, pathCollections, "action", "CLUSTERSTATUS", "collection", "moved", "omitHeader", "true")

	c.Nodes[1].Kill()
	time.Sleep(time.Second)
	r.get("cluster-status-killed-unnoticed", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")
	time.Sleep(12 * time.Second)
	r.get("cluster-status-killed", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")
	c.Nodes[1].Start()
	r.until("health-recovering", c.Nodes[1], http.StatusServiceUnavailable, pathHealth, "requireHealthyCores", "true")
	r.get("cluster-status-recovering", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")
	c.Nodes[1].AwaitUp()
	c.Nodes[2].Stop()
	time.Sleep(time.Second)
	r.get("cluster-status-stopped", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")

	resume := c.PauseZooKeeper()
	r.until("health-no-zookeeper", n, http.StatusServiceUnavailable, pathHealth, "requireHealthyCores", "true")
	r.get("cluster-error-no-zookeeper", n, pathCollections, "action", "CLUSTERSTATUS", "omitHeader", "true")
	resume()

}

// TestRecordDenied writes down how a secured server refuses.
func TestRecordDenied(t *testing.T) {
	if !*record {
		t.Skip("rewrites testdata/recorded; run with -record")
	}
	for _, version := range recordedVersions {
		r := recorder{t, filepath.Join("testdata", "recorded", version)}
		n := startSecured(t, version).Nodes[0]
		r.as("denied-anonymous", n, "", "", pathCollections, "action", "CLUSTERSTATUS")
		r.as("denied-anonymous-system", n, "", "", pathSystem)
		r.as("denied-wrong-password", n, "solr", "wrong", pathCollections, "action", "CLUSTERSTATUS")
		r.as("denied-role", n, "guest", securedPassword, pathCollections, "action", "CLUSTERSTATUS")
		r.as("cluster-status-secured", n, "solr", securedPassword, pathCollections, "action", "CLUSTERSTATUS")
	}
}

// follower finds a copy that could lead the first shard of a collection.
func (r recorder) follower(n *solrtest.Node, collection string) (string, string, string) {
	for shard, replicas := range n.State()[collection] {
		for name, replica := range replicas {
			if replica["leader"] != "true" && replica["type"] != "PULL" {
				return collection, shard, name
			}
		}
	}
	r.Fatal("no follower")
	return "", "", ""
}

func (r recorder) get(name string, n *solrtest.Node, path string, pairs ...string) int {
	body, status, err := n.Try(http.MethodGet, path, web.Query(append(pairs, "wt", "json")...))
	require.NoError(r, err)
	r.write(name, shown(path, pairs), status, body)
	return status
}

// raw asks for an answer that is not JSON.
func (r recorder) raw(name string, n *solrtest.Node, path string, pairs ...string) {
	params := web.Query(pairs...)
	body, status, err := n.Try(http.MethodGet, path, params)
	require.NoError(r, err)
	r.write(name, "GET "+path+"?"+params.Encode(), status, body)
}

func shown(path string, pairs []string) string {
	text, err := url.QueryUnescape(web.Query(append(pairs, "wt", "json")...).Encode())
	if err != nil {
		text = err.Error()
	}
	return "GET " + path + "?" + text
}

// as asks with these credentials, or with none.

func (r recorder) as(name string, n *solrtest.Node, user, password, path string, pairs ...string) {
	params := web.Query(append(pairs, "wt", "json")...)
	req, err := http.NewRequest(http.MethodGet, n.URL()+path+"?"+params.Encode(), nil)
	require.NoError(r, err)
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	answer, err := http.DefaultClient.Do(req)
	require.NoError(r, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(r, err)
	r.write(name, shown(path, pairs), answer.StatusCode, body)
}

// until asks again until the status is as wanted, and keeps that answer.
func (r recorder) until(name string, n *solrtest.Node, status int, path string, pairs ...string) {
	require.Eventually(r, func() bool {
		_, got, err := n.Try(http.MethodGet, path, web.Query(pairs...))
		return err == nil && got == status && r.get(name, n, path, pairs...) == status
	}, time.Minute, 50*time.Millisecond, name)
}

func (r recorder) write(name, request string, status int, body []byte) {
	text := fmt.Sprintf("%s\n%d\n\n%s", request, status, trimmed(body))
	require.NoError(r, os.WriteFile(filepath.Join(r.dir, name+".txt"), []byte(text), 0o644))
}

// trimmed takes out what tells of the machine or is long and not looked at.
func trimmed(body []byte) []byte {
	var all map[string]any
	if json.Unmarshal(body, &all) != nil {
		return body
	}
	for _, key := range []string{"jvm", "system", "security", "solr_home", "core_root", "zkHost"} {
		delete(all, key)
	}
	for key := range all {
		if strings.HasPrefix(key, "overseer_") || strings.HasPrefix(key, "collection_") {
			if _, isNumber := all[key].(float64); !isNumber {
				delete(all, key)
			}
		}
	}
	if failure, ok := all["error"].(map[string]any); ok {
		delete(failure, "trace")
	}
	out, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return body
	}
	return append(out, '\n')
}
