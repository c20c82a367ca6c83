package opensearch

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

var record = flag.Bool("record", false, "write answers of real servers to testdata/recorded")

// recorder brings real servers into the situations that matter, and writes down
// what they answer to the adapter's own requests.
type recorder struct {
	*testing.T
	dir string
}

func newRecorder(t *testing.T, folder string) recorder {
	if !*record {
		t.Skip("rewrites testdata/recorded; run with -record")
	}
	r := recorder{t, filepath.Join("testdata", "recorded", folder)}
	require.NoError(t, os.MkdirAll(r.dir, 0o755))
	return r
}

// TestRecord records three nodes of one version, alone and with others stopped.
func TestRecord(t *testing.T) {
	for _, version := range opensearchtest.Versions {
		t.Run(version, func(t *testing.T) {
			r := newRecorder(t, version)
			c := opensearchtest.Start(t, opensearchtest.Options{
				Versions: []string{version, version, version}, Settings: map[string]string{"path.repo": t.TempDir()},
			})
			n := c.Nodes[0]
			n.AwaitHealth("green", 3)
			r.situation("empty", n)
			n.CreateIndex("alone", 1, 0)
			n.CreateIndex("pairs", 2, 1)
			n.CreateIndex("thrice", 1, 2)
			n.CreateIndex("moving", 1, 0)
			r.green(n)
			r.situation("green", n)
			r.changes(n)
			r.voting(c)
			r.snapshot(n)
			r.moving(c)
			r.excluded(c)
			r.away(c)
			r.noManager(c)
		})
		t.Run(version+" few nodes", func(t *testing.T) {
			r := newRecorder(t, version)
			r.single(version)
			r.twoManagers(version)
		})
	}
}

// TestRecordUpgrade records an upgrade from the oldest version to the newest, with a setting that
// the newest no longer has, and an index with segment replication.
func TestRecordUpgrade(t *testing.T) {
	from, to := opensearchtest.Versions[0], opensearchtest.Versions[len(opensearchtest.Versions)-1]
	r := newRecorder(t, from+"+"+to)
	c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{from, from, from}})
	n := c.Nodes[0]
	n.AwaitHealth("green", 3)
	n.Call("PUT", "/segments?wait_for_active_shards=all", `{"settings":{"number_of_shards":1,"number_of_replicas":2,"replication.type":"SEGMENT"}}`)
	n.CreateIndex("documents", 1, 2)
	r.green(n)
	r.situation("segments", n)
	n.Call("PUT", pathSettings, `{"persistent":{"compatibility.override_main_response_version":"true"}}`)
	upgrade := func(n *opensearchtest.Node) {
		n.Stop()
		n.Version = to
		n.Start()
		n.AwaitUp()
	}
	upgrade(c.Nodes[2])
	r.green(n)
	r.situation("one-upgraded", n)
	// Where an index is made on the node that was upgraded first.
	n.Call("PUT", "/fresh", fmt.Sprintf(`{"settings":{"number_of_shards":1,"number_of_replicas":1,"index.routing.allocation.include._name":%q}}`, c.Nodes[2].Name))
	n.Call("PUT", "/fresh/_settings", `{"index.routing.allocation.include._name":null}`)
	n.AwaitHealth("yellow", 3)
	r.situation("fresh-on-upgraded", n)
	upgrade(c.Nodes[1])
	r.green(n)
	n.Call("POST", pathVoting+"?timeout=30s&node_names="+n.Name, "")
	n.Await("the manager stays", "/_cluster/health", func(map[string]any) bool { return elected(r.T, c.Nodes[2]) != n.Name })
	n.Call("DELETE", pathVoting+"?wait_for_removal=false", "")
	r.situation("led-by-upgraded", n)
	r.exchange("change-first", n, throttleOnly)
	r.exchange("change-archived", n, unthrottle)
	r.situation("archived", n)
	r.exchange("change-archived-aside", n, func(t *testing.T, e *Engine) error {
		s, err := e.api.settings(t.Context())
		require.NoError(t, err)
		persistent, transient := s.moveAside(changes{settingAllocation: nil}, nil)
		return e.api.change(t.Context(), persistent, transient)
	})
	r.situation("archived-aside", n)
	upgrade(n)
	r.green(n)
	r.situation("all-upgraded", n)
}

func throttleOnly(t *testing.T, e *Engine) error {
	return e.api.change(t.Context(), changes{settingAllocation: new(throttledValue)}, nil)
}

func unthrottle(t *testing.T, e *Engine) error {
	return e.api.change(t.Context(), changes{settingAllocation: nil}, nil)
}

// situation is all that the adapter asks for to observe, and before it says that a
// node is empty.
func (r recorder) situation(name string, n *opensearchtest.Node) {
	r.write(name, listen(r.T, n.Try, func(e *Engine) {
		_, err := e.Observe(r.Context())
		require.NoError(r, err)
		self, err := e.api.identity(r.Context())
		require.NoError(r, err)
		_, err = e.api.ownShards(r.Context(), self.id)
		require.NoError(r, err)
	}))
}

// exchange is the last thing that the engine asks; that it is refused is what some
// are for.
func (r recorder) exchange(name string, n *opensearchtest.Node, do func(*testing.T, *Engine) error) {
	c := listen(r.T, n.Try, func(e *Engine) { r.Logf("%s: %v", name, do(r.T, e)) })
	r.write(name, c[len(c)-1:])
}

// write sorts what was said, of which some is said side by side, and leaves out
// what was said again.
func (r recorder) write(name string, c conversation) {
	slices.SortStableFunc(c, func(a, b exchange) int { return strings.Compare(a.request, b.request) })
	c = slices.CompactFunc(c, func(a, b exchange) bool { return a.request == b.request && a.body == b.body })
	text := c.String()
	require.Less(r, len(text), 100_000, name)
	require.NoError(r, os.WriteFile(filepath.Join(r.dir, name+".txt"), []byte(text), 0o644))
}

func (r recorder) green(n *opensearchtest.Node) {
	n.Await("not green", "/_cluster/health", func(h map[string]any) bool {
		return h["status"] == "green" && h["relocating_shards"] == 0.0 && h["number_of_pending_tasks"] == 0.0
	})
}

// changes that work, and that OpenSearch will not do.
func (r recorder) changes(n *opensearchtest.Node) {
	r.exchange("change-throttle", n, throttleOnly)
	r.situation("throttled", n)
	r.exchange("change-unthrottle", n, unthrottle)
	r.exchange("change-nonsense", n, func(t *testing.T, e *Engine) error {
		return e.api.change(t.Context(), changes{settingAllocation: new("some")}, nil)
	})
	r.exchange("change-unknown", n, func(t *testing.T, e *Engine) error {
		return e.api.change(t.Context(), changes{"cluster.no.such": new("1")}, nil)
	})
	n.Call("PUT", pathSettings, `{"persistent":{"cluster.blocks.read_only":true}}`)
	r.exchange("change-read-only", n, throttleOnly)
	n.Call("PUT", pathSettings, `{"persistent":{"cluster.blocks.read_only":null}}`)
	r.exchange("change-exclude-nobody", n, func(t *testing.T, e *Engine) error { return e.api.excludeVoters(t.Context(), nil, nil) })
	r.exchange("flush", n, func(t *testing.T, e *Engine) error { return e.api.flush(t.Context()) })
}

// voting moves the elected manager away and lets everybody vote again.
func (r recorder) voting(c *opensearchtest.Cluster) {
	n := c.Nodes[0]
	manager := elected(r.T, n)
	r.exchange("change-exclude-manager", n, func(t *testing.T, e *Engine) error { return e.api.excludeVoters(t.Context(), []string{manager}, nil) })
	n.Await("the manager stays", "/_cluster/health", func(map[string]any) bool { return elected(r.T, n) != manager })
	r.exchange("change-exclude-unknown", n, func(t *testing.T, e *Engine) error { return e.api.excludeVoters(t.Context(), []string{"nobody"}, nil) })
	r.situation("manager-excluded", n)
	r.exchange("change-clear-voters", n, func(t *testing.T, e *Engine) error { return e.api.clearVoters(t.Context()) })
	n.Await("one votes alone", pathState+"/metadata/"+noIndex, func(state map[string]any) bool {
		coordination := state["metadata"].(map[string]any)["cluster_coordination"].(map[string]any)
		return len(coordination["last_committed_config"].([]any)) == len(c.Nodes)
	})
	r.situation("manager-back", n)
}

// snapshot is one that takes its time.
func (r recorder) snapshot(n *opensearchtest.Node) {
	for i := range 40 {
		n.Call("PUT", fmt.Sprintf("/moving/_doc/%d", i), fmt.Sprintf(`{"said":%q}`, noise(i, 20_000)))
	}
	n.Call("POST", "/moving/_flush", "")
	n.Call("PUT", "/_snapshot/backup", `{"type":"fs","settings":{"location":"here","max_snapshot_bytes_per_sec":"10kb"}}`)
	n.Call("PUT", "/_snapshot/backup/daily?wait_for_completion=false", "")
	r.situation("snapshot", n)
	n.Call("DELETE", "/_snapshot/backup/daily", "")
}

// moving catches a shard between two nodes: throttled to a crawl while it holds
// more than one chunk.
func (r recorder) moving(c *opensearchtest.Cluster) {
	n := c.Nodes[0]
	n.Call("PUT", pathSettings, `{"transient":{"indices.recovery.max_bytes_per_sec":"20kb"}}`)
	from := holder(r.T, n, "moving")
	to := c.Nodes[slices.IndexFunc(c.Nodes, func(o *opensearchtest.Node) bool { return o.Name != from })].Name
	n.Call("POST", "/_cluster/reroute?metric=none",
		fmt.Sprintf(`{"commands":[{"move":{"index":"moving","shard":0,"from_node":%q,"to_node":%q}}]}`, from, to))
	r.situation("moving", n)
	n.Call("PUT", pathSettings, `{"transient":{"indices.recovery.max_bytes_per_sec":null}}`)
	r.green(n)
}

// excluded empties a node, as far as the copies find room elsewhere.
func (r recorder) excluded(c *opensearchtest.Cluster) {
	n := c.Nodes[0]
	name := holder(r.T, n, "alone")
	n.Call("PUT", pathSettings, fmt.Sprintf(`{"persistent":{%q:%q}}`, settingExclude, name))
	n.Await("the shard stays", "/_cluster/health", func(map[string]any) bool { return holder(r.T, n, "alone") != name })
	r.green(n)
	r.situation("excluded", n)
	n.Call("PUT", pathSettings, fmt.Sprintf(`{"persistent":{%q:null}}`, settingExclude))
	r.green(n)
}

// away is a node that stopped and came back, and one that was killed with the only
// copy of a shard while no replicas may be allocated.
func (r recorder) away(c *opensearchtest.Cluster) {
	n, gone := c.Nodes[0], c.Nodes[2]
	n.Call("DELETE", "/alone,moving", "")
	gone.Stop()
	n.AwaitHealth("yellow", 2)
	r.situation("stopped", n)
	gone.Start()
	gone.AwaitUp()
	n.AwaitHealth("green", 3)
	n.Call("PUT", "/alone?wait_for_active_shards=all", fmt.Sprintf(
		`{"settings":{"number_of_shards":1,"number_of_replicas":0,"routing.allocation.require._name":%q}}`, gone.Name))
	n.Call("PUT", "/many", `{"settings":{"number_of_shards":1,"number_of_replicas":3}}`)
	three := func(h map[string]any) bool { return h["active_shards"] == 3.0 }
	n.Await("not everywhere", "/_cluster/health/many", three)
	n.Call("PUT", pathSettings, fmt.Sprintf(`{"persistent":{%q:"primaries"}}`, settingAllocation))
	gone.Kill()
	n.AwaitHealth("red", 2)
	r.situation("killed-red", n)
	gone.Start()
	gone.AwaitUp()
	n.AwaitHealth("yellow", 3)
	r.situation("back-throttled", n)
	n.Call("PUT", pathSettings, fmt.Sprintf(`{"persistent":{%q:null}}`, settingAllocation))
	n.Await("not everywhere", "/_cluster/health/many", three)
	n.Await("not all back", "/_cluster/health", func(h map[string]any) bool { return h["unassigned_shards"] == 1.0 && h["initializing_shards"] == 0.0 })
	r.situation("more-copies-than-nodes", n)
	n.Call("DELETE", "/many", "")
	n.AwaitHealth("green", 3)
}

// noManager is what the last of three nodes answers.
func (r recorder) noManager(c *opensearchtest.Cluster) {
	n := c.Nodes[0]
	c.Nodes[1].Kill()
	c.Nodes[2].Kill()
	require.Eventually(r, func() bool {
		_, status, err := n.Try(http.MethodGet, "/_cluster/health?timeout=1s&cluster_manager_timeout=1s", "")
		return err == nil && status == http.StatusServiceUnavailable
	}, 2*time.Minute, 100*time.Millisecond)
	r.situation("no-manager", n)
	for name, path := range map[string]string{"health": pathHealth, "state": pathState + "/nodes", "settings": pathSettings} {
		r.exchange("no-manager-"+name, n, func(t *testing.T, e *Engine) error {
			return e.api.client.Do(t.Context(), web.Request{Path: path, Params: web.Query("cluster_manager_timeout", "1s"), Timeout: e.api.read})
		})
	}
}

// single is a node that is alone, with an index that wants a replica.
func (r recorder) single(version string) {
	c := opensearchtest.Start(r, opensearchtest.Options{Versions: []string{version}})
	c.Nodes[0].CreateIndex("alone", 1, 0)
	c.Nodes[0].Call("PUT", "/pairs", `{"settings":{"number_of_shards":1,"number_of_replicas":1}}`)
	c.Nodes[0].AwaitHealth("yellow", 1)
	r.situation("single", c.Nodes[0])
}

// twoManagers: the one that votes hands over to the one that does not.
func (r recorder) twoManagers(version string) {
	c := opensearchtest.Start(r, opensearchtest.Options{
		Versions: []string{version, version}, Roles: []string{"cluster_manager, data", "cluster_manager, data"},
	})
	n := c.Nodes[0]
	n.AwaitHealth("green", 2)
	n.CreateIndex("pairs", 1, 1)
	r.situation("two-managers", n)
	voter := elected(r.T, n)
	host := c.Nodes[slices.IndexFunc(c.Nodes, func(o *opensearchtest.Node) bool { return o.Name == voter })]
	e := mustNew(r.T, Options{Access: web.Access{Host: host.Host, Port: host.Port}})
	order := engines.Order{Kind: engines.Handoff, Claim: "c1"}
	undo, err := e.PlanDrain(r.Context(), order)
	require.NoError(r, err)
	require.Eventually(r, func() bool {
		p, err := e.Drain(r.Context(), order, undo)
		return err == nil && p.State == engines.ProgressDone
	}, time.Minute, 100*time.Millisecond)
	r.situation("two-managers-handed-over", n)
	// The voter that hands over is on its way; the other decides alone.
	host.Stop()
	for _, other := range c.Nodes {
		if other != host {
			other.AwaitHealth("yellow", 1)
			r.situation("two-managers-one-away", other)
		}
	}
}

// elected is the name of the elected manager, or a dash.
func elected(t *testing.T, n *opensearchtest.Node) string {
	var rows []struct{ Node string }
	require.NoError(t, json.Unmarshal(n.Call("GET", "/_cat/cluster_manager?format=json", ""), &rows))
	require.Len(t, rows, 1)
	return rows[0].Node
}

// holder is where the only copy is.
func holder(t *testing.T, n *opensearchtest.Node, index string) string {
	var rows []struct{ Node string }
	require.NoError(t, json.Unmarshal(n.Call("GET", "/_cat/shards/"+index+"?format=json&h=node", ""), &rows))
	require.Len(t, rows, 1)
	return rows[0].Node
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
