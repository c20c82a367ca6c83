package opensearchtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var record = flag.Bool("record", false, "write answers of real servers to testdata/recorded of the adapter")

// What is asked for, as an adapter would.
const (
	askHealth   = "/_cluster/health?wait_for_events=languid&timeout=0s"
	askState    = "/_cluster/state/metadata,nodes,routing_table,cluster_manager_node?filter_path=cluster_uuid,cluster_manager_node,state_uuid,version,nodes,metadata.cluster_coordination,metadata.indices.*.state,metadata.indices.*.settings.index.number_of_replicas,metadata.indices.*.settings.index.replication.type,metadata.indices.*.settings.index.version,metadata.indices.*.in_sync_allocations,routing_table"
	askCat      = "/_cat/shards?format=json&h=index,shard,prirep,state,node,id,unassigned.reason,unassigned.at"
	askVoting   = "/_cluster/state/metadata?filter_path=metadata.cluster_coordination"
	askSettings = "/_cluster/settings?flat_settings=true"
	onlyEnable  = `{"persistent":{"cluster.routing.allocation.enable":%s}}`
	onlyExclude = `{"persistent":{"cluster.routing.allocation.exclude._name":%s}}`
)

// TestRecord starts a real cluster of each version, brings it into the situations
// that matter, and writes down what it answers.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("rewrites testdata/recorded; run with -record")
	}
	for _, v := range Versions {
		t.Run(v, func(t *testing.T) { recordVersion(t, v) })
	}
}

func recordVersion(t *testing.T, version string) {
	r := recorder{t, filepath.Join("..", "testdata", "recorded", version)}
	require.NoError(t, os.MkdirAll(r.dir, 0o755))
	c := Start(t, Options{Versions: []string{version, version, version}})
	n := c.Nodes[0]
	n.AwaitHealth("green", 3)
	r.situation("empty", n)
	r.quiet(n)
	r.identity(n)
	r.get("nodes-local", n, "/_nodes/_local?filter_path=nodes.*.name,nodes.*.version,nodes.*.roles")
	r.get("manager-local", n, "/_cluster/state/cluster_manager_node?local=true")
	r.get("explain-nothing", n, "/_cluster/allocation/explain")

	n.CreateIndex("alone", 1, 0)
	n.CreateIndex("pairs", 2, 1)
	n.CreateIndex("thrice", 1, 2)
	n.Call(http.MethodPut, "/moving", `{"settings":{"number_of_shards":1,"number_of_replicas":0}}`)
	n.AwaitHealth("green", 3)
	r.situation("green", n)
	r.get("health-indices", n, askHealth+"&level=indices")
	r.call("flush", n, http.MethodPost, "/_flush", "")

	r.voting(c)
	r.enable(n)
	r.moving(c)
	r.exclude(c)
	r.errors(n)
	r.away(c)
	r.noManager(c)
}

type recorder struct {
	*testing.T
	dir string
}

// identity is who the nodes are.
func (r recorder) identity(n *Node) {
	r.get("root", n, "/")
	r.get("nodes", n, "/_nodes?filter_path=_nodes,cluster_name,nodes.*.name,nodes.*.version,nodes.*.build_type,nodes.*.roles,nodes.*.attributes,nodes.*.host,nodes.*.ip,nodes.*.transport_address,nodes.*.http.publish_address")
	r.get("nodes-stats", n, "/_nodes/stats/indices,fs?filter_path=nodes.*.name,nodes.*.indices.docs,nodes.*.indices.store,nodes.*.fs.total")
	r.get("cat-nodes", n, "/_cat/nodes?format=json&full_id=true&h=id,name,ip,version,node.role,node.roles,master")
	r.get("cat-manager", n, "/_cat/cluster_manager?format=json")
}

// quiet shows what different patience finds where nothing happens.
func (r recorder) quiet(n *Node) {
	for _, patience := range []string{"0s", "1ms", "100ms", "1s"} {
		inTime := 0
		for range 20 {
			_, status, err := n.Try(http.MethodGet, "/_cluster/health?wait_for_events=languid&timeout="+patience, "")
			require.NoError(r, err)
			if status == http.StatusOK {
				inTime++
			}
		}
		r.Logf("timeout=%s: %d of 20 in time", patience, inTime)
	}
}

// situation is all that tells how the cluster is.
func (r recorder) situation(name string, n *Node) {
	r.get("health-"+name, n, askHealth)
	r.get("state-"+name, n, askState)
	r.get("cat-shards-"+name, n, askCat)
	r.get("settings-"+name, n, askSettings)
}

// voting moves the elected manager away and lets everybody vote again.
func (r recorder) voting(c *Cluster) {
	n := c.Nodes[0]
	manager := c.manager(n)
	path := "/_cluster/voting_config_exclusions"
	r.get("voting", n, askVoting)
	r.call("voting-exclude", n, http.MethodPost, path+"?node_names="+manager+"&timeout=30s", "")
	n.Await("the manager stays", "/_cluster/state/cluster_manager_node", func(map[string]any) bool { return c.manager(n) != manager })
	r.get("voting-excluded", n, askVoting)
	r.call("voting-exclude-again", n, http.MethodPost, path+"?node_names="+manager+"&timeout=30s", "")
	r.call("voting-exclude-unknown", n, http.MethodPost, path+"?node_names=nobody&timeout=30s", "")
	r.get("voting-excluded-unknown", n, askVoting)
	r.call("voting-exclude-nothing", n, http.MethodPost, path, "")
	r.call("voting-clear", n, http.MethodDelete, path+"?wait_for_removal=false", "")
	r.call("voting-clear-again", n, http.MethodDelete, path+"?wait_for_removal=false", "")
	r.get("voting-cleared", n, askVoting)
}

// enable lets only primaries be allocated, and then all again.
func (r recorder) enable(n *Node) {
	r.call("enable-primaries", n, http.MethodPut, "/_cluster/settings?flat_settings=true", fmt.Sprintf(onlyEnable, `"primaries"`))
	r.get("settings-primaries", n, askSettings)
	r.call("enable-back", n, http.MethodPut, "/_cluster/settings?flat_settings=true", fmt.Sprintf(onlyEnable, "null"))
	r.get("settings-back", n, askSettings)
	r.call("enable-nonsense", n, http.MethodPut, "/_cluster/settings", fmt.Sprintf(onlyEnable, `"some"`))
	r.call("setting-unknown", n, http.MethodPut, "/_cluster/settings", `{"persistent":{"cluster.no.such":"1"}}`)
}

// moving catches a shard between two nodes: throttled to a crawl while it holds
// more than one chunk.
func (r recorder) moving(c *Cluster) {
	n := c.Nodes[0]
	for i := range 40 {
		n.Call(http.MethodPut, fmt.Sprintf("/moving/_doc/%d", i), fmt.Sprintf(`{"said":%q}`, noise(i, 20_000)))
	}
	n.Call(http.MethodPost, "/moving/_flush", "")
	n.Call(http.MethodPut, "/_cluster/settings", `{"transient":{"indices.recovery.max_bytes_per_sec":"20kb"}}`)
	from := c.holder(n, "moving")
	to := c.other(from, "")
	r.call("reroute", n, http.MethodPost, "/_cluster/reroute?metric=none",
		fmt.Sprintf(`{"commands":[{"move":{"index":"moving","shard":0,"from_node":%q,"to_node":%q}}]}`, from, to))
	r.situation("moving", n)
	n.Call(http.MethodPut, "/_cluster/settings", `{"transient":{"indices.recovery.max_bytes_per_sec":null}}`)
	n.AwaitHealth("green", 3)
	r.get("cat-shards-moved", n, askCat)
}

// exclude empties a node, as far as the copies find room elsewhere.
func (r recorder) exclude(c *Cluster) {
	n := c.Nodes[0]
	name := c.holder(n, "alone")
	r.call("exclude", n, http.MethodPut, "/_cluster/settings?flat_settings=true", fmt.Sprintf(onlyExclude, fmt.Sprintf("%q", name)))
	n.Await("the shard stays", "/_cluster/health", func(map[string]any) bool { return c.holder(n, "alone") != name })
	n.AwaitHealth("green", 3)
	r.situation("excluded", n)
	r.call("explain-stuck", n, http.MethodPost, "/_cluster/allocation/explain",
		fmt.Sprintf(`{"index":"thrice","shard":0,"primary":%t,"current_node":%q}`, c.leads(n, "thrice", name), name))
	r.call("exclude-back", n, http.MethodPut, "/_cluster/settings?flat_settings=true", fmt.Sprintf(onlyExclude, "null"))
	n.AwaitHealth("green", 3)
}

// errors are refusals of a server that is well.
func (r recorder) errors(n *Node) {
	n.Call(http.MethodPut, "/pairs/_block/write", "")
	r.call("error-403-write-block", n, http.MethodPut, "/pairs/_doc/1", `{"said":"no"}`)
	n.Call(http.MethodPut, "/pairs/_settings", `{"index.blocks.write":null}`)
	n.Call(http.MethodPut, "/_cluster/settings", `{"persistent":{"cluster.blocks.read_only":true}}`)
	r.call("error-403-read-only", n, http.MethodPut, "/other", "")
	n.Call(http.MethodPut, "/_cluster/settings", `{"persistent":{"cluster.blocks.read_only":null}}`)
	r.get("error-404-index", n, "/none/_settings")
	r.get("error-400-path", n, "/_no_such_path")
	r.call("error-405", n, http.MethodDelete, "/_cluster/health", "")
}

// away is a node that stopped and came back, and one that was killed with the
// only copy of a shard while no replicas may be allocated.
func (r recorder) away(c *Cluster) {
	n := c.Nodes[0]
	gone := c.Nodes[2]
	n.Call(http.MethodDelete, "/alone,moving", "")
	gone.Stop()
	n.Await("nobody noticed", "/_cluster/health", func(h map[string]any) bool { return h["number_of_nodes"] == 2.0 })
	n.AwaitHealth("yellow", 2)
	r.situation("stopped", n)
	r.call("explain-away", n, http.MethodPost, "/_cluster/allocation/explain", `{"index":"thrice","shard":0,"primary":false}`)
	gone.Start()
	gone.AwaitUp()
	n.AwaitHealth("green", 3)

	n.Call(http.MethodPut, "/alone?wait_for_active_shards=all", fmt.Sprintf(
		`{"settings":{"number_of_shards":1,"number_of_replicas":0,"routing.allocation.require._name":%q}}`, gone.Name))
	n.Call(http.MethodPut, "/_cluster/settings", fmt.Sprintf(onlyEnable, `"primaries"`))
	gone.Kill()
	n.Await("nobody noticed", "/_cluster/health", func(h map[string]any) bool { return h["number_of_nodes"] == 2.0 })
	n.AwaitHealth("red", 2)
	r.situation("killed-red", n)
	gone.Start()
	gone.AwaitUp()
	n.AwaitHealth("yellow", 3)
	r.situation("back-primaries", n)
	r.call("explain-primaries", n, http.MethodPost, "/_cluster/allocation/explain", `{"index":"thrice","shard":0,"primary":false}`)
	n.Call(http.MethodPut, "/_cluster/settings", fmt.Sprintf(onlyEnable, "null"))
	n.AwaitHealth("green", 3)
}

// noManager is what the last of three nodes answers.
func (r recorder) noManager(c *Cluster) {
	n := c.Nodes[0]
	c.Nodes[1].Kill()
	c.Nodes[2].Kill()
	n.until(r.T, http.StatusServiceUnavailable, "/_cluster/health?timeout=1s&cluster_manager_timeout=1s")
	r.get("error-503-health", n, "/_cluster/health?timeout=1s&cluster_manager_timeout=1s")
	r.get("error-503-state", n, "/_cluster/state/nodes?cluster_manager_timeout=1s")
	r.get("error-503-cat-shards", n, "/_cat/shards?format=json&cluster_manager_timeout=1s")
	r.get("error-503-settings", n, "/_cluster/settings?cluster_manager_timeout=1s")
	r.call("error-503-settings-write", n, http.MethodPut, "/_cluster/settings?cluster_manager_timeout=1s", fmt.Sprintf(onlyEnable, `"primaries"`))
	r.call("error-503-voting", n, http.MethodPost, "/_cluster/voting_config_exclusions?node_names=node-0&timeout=1s", "")
	r.get("no-manager-health-local", n, "/_cluster/health?local=true&timeout=0s")
	r.get("no-manager-local", n, "/_cluster/state/cluster_manager_node?local=true")
	r.get("no-manager-root", n, "/")
	r.get("no-manager-nodes-local", n, "/_nodes/_local?filter_path=nodes.*.name,nodes.*.version,nodes.*.roles")
}

func (r recorder) get(name string, n *Node, path string) { r.call(name, n, http.MethodGet, path, "") }

func (r recorder) call(name string, n *Node, method, path, body string) {
	answer, status, err := n.Try(method, path, body)
	require.NoError(r, err)
	request := method + " " + path
	if body != "" {
		request += "\n" + body
	}
	text := fmt.Sprintf("%s\n%d\n\n%s", request, status, indented(answer))
	require.Less(r, len(text), 100_000, name)
	require.NoError(r, os.WriteFile(filepath.Join(r.dir, name+".txt"), []byte(text), 0o644))
}

func indented(body []byte) []byte {
	var all any
	if json.Unmarshal(body, &all) != nil {
		return body
	}
	out, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return body
	}
	return append(out, '\n')
}

func (n *Node) until(t *testing.T, status int, path string) {
	require.Eventually(t, func() bool {
		_, got, err := n.Try(http.MethodGet, path, "")
		return err == nil && got == status
	}, 2*time.Minute, 100*time.Millisecond, path)
}

// manager is the name of the elected one, or a dash.
func (c *Cluster) manager(n *Node) string {
	var rows []struct{ Node string }
	require.NoError(c.t, json.Unmarshal(n.Call(http.MethodGet, "/_cat/cluster_manager?format=json", ""), &rows))
	require.Len(c.t, rows, 1)
	return rows[0].Node
}

func (c *Cluster) shards(n *Node, index string) []map[string]string {
	var rows []map[string]string
	require.NoError(c.t, json.Unmarshal(n.Call(http.MethodGet, "/_cat/shards/"+index+"?format=json&h=node,prirep", ""), &rows))
	return rows
}

// holder is where the only copy is.
func (c *Cluster) holder(n *Node, index string) string {
	rows := c.shards(n, index)
	require.Len(c.t, rows, 1)
	return rows[0]["node"]
}

func (c *Cluster) leads(n *Node, index, node string) bool {
	for _, row := range c.shards(n, index) {
		if row["node"] == node {
			return row["prirep"] == "p"
		}
	}
	return false
}

// other is a node that is neither of these.
func (c *Cluster) other(a, b string) string {
	for _, n := range c.Nodes {
		if n.Name != a && n.Name != b {
			return n.Name
		}
	}
	return ""
}

// noise is text that does not compress.
func noise(seed, length int) string {
	out := make([]byte, length)
	x := uint64(seed)*2654435761 + 88172645463325252
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = 'a' + byte(x%26)
	}
	return string(out)
}
