package solr

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

// fakeCluster is a SolrCloud of some nodes, as far as the adapter can see. Its
// answers have the form of those under testdata/recorded.
type fakeCluster struct {
	t       *testing.T
	nodes   []string
	servers []*webtest.Front
	urls    []*httptest.Server
	allowed webtest.Allowance
	network webtest.Network

	mu       sync.Mutex
	version  string
	live     map[string]bool
	shards   map[string]map[string]map[string]*fakeReplica // collection, shard, core_node
	queued   []func()                                      // property changes that no node has seen yet
	tasks    map[string]int                                // polls until completed
	overseer string
	noOverseer,
	unhealthy bool
	requests map[string]int
	next     int
	conns    webtest.Connections
	// deaf rebalances do nothing and say success.
	deafRebalances int
	failTasks      int
	// working is how many operations the overseer has besides the question.
	working int
}

type fakeReplica struct {
	node, state, kind string
	leader            bool
	properties        map[string]string
}

func newFakeCluster(t *testing.T, n int) *fakeCluster {
	c := &fakeCluster{
		t: t, version: "9.9.0", live: map[string]bool{}, shards: map[string]map[string]map[string]*fakeReplica{},
		tasks: map[string]int{}, requests: map[string]int{},
	}
	c.allowed.Set(-1)
	for i := range n {
		node := fmt.Sprintf("db-%d.solr:8983_solr", i)
		c.nodes, c.live[node] = append(c.nodes, node), true
		f := &webtest.Front{Manners: manners, Allowed: &c.allowed, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(node, w, r) })}
		server := httptest.NewUnstartedServer(f)
		if err := server.Listener.Close(); err != nil {
			t.Fatal(err)
		}
		server.Listener = c.network.Listen()
		server.Config.ConnState = c.conns.State
		server.Start()
		t.Cleanup(server.Close)
		c.servers, c.urls = append(c.servers, f), append(c.urls, server)
	}
	c.overseer = c.nodes[n-1]
	return c
}

func (c *fakeCluster) add(collection, shard string, kinds string, nodes ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shards[collection] == nil {
		c.shards[collection] = map[string]map[string]*fakeReplica{}
	}
	replicas := map[string]*fakeReplica{}
	for i, n := range nodes {
		c.next++
		kind := map[byte]string{'n': "NRT", 't': "TLOG", 'p': "PULL"}[kinds[i]]
		replicas[fmt.Sprintf("core_node%d", c.next)] = &fakeReplica{
			node: c.nodes[n], state: "active", kind: kind, leader: i == 0, properties: map[string]string{},
		}
	}
	c.shards[collection][shard] = replicas
}

func (c *fakeCluster) options(i int) Options {
	host, port := webtest.Address(c.t, c.urls[i].URL)
	return Options{Access: web.Access{Host: host, Port: port, Dial: c.network.Dial}}
}

// each visits all replicas, in order. Called with the lock.
func (c *fakeCluster) each(f func(collection, shard, name string, r *fakeReplica)) {
	for _, col := range slices.Sorted(maps.Keys(c.shards)) {
		for _, s := range slices.Sorted(maps.Keys(c.shards[col])) {
			for _, name := range slices.Sorted(maps.Keys(c.shards[col][s])) {
				f(col, s, name, c.shards[col][s][name])
			}
		}
	}
}

func (c *fakeCluster) count(want func(r *fakeReplica) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	n := 0
	c.each(func(_, _, _ string, r *fakeReplica) {
		if want(r) {
			n++
		}
	})
	return n
}

func (c *fakeCluster) leftovers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	var out []string
	c.each(func(col, s, name string, r *fakeReplica) {
		for _, p := range slices.Sorted(maps.Keys(r.properties)) {
			if !strings.HasPrefix(r.properties[p], "foreign") {
				out = append(out, strings.Join([]string{col, s, name, p, r.properties[p]}, " "))
			}
		}
	})
	for id := range c.tasks {
		out = append(out, "task "+id)
	}
	return out
}

func (c *fakeCluster) serve(node string, w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	action := r.FormValue("action")
	c.requests[r.URL.Path+" "+action]++
	answer := map[string]any{}
	switch {
	case r.URL.Path == pathSystem:
		answer["mode"], answer["node"], answer["lucene"] = "solrcloud", node, map[string]string{"solr-spec-version": c.version}
	case r.URL.Path == pathHealth && c.unhealthy:
		w.WriteHeader(http.StatusServiceUnavailable)
		answer["status"], answer["num_cores_unhealthy"] = "FAILURE", 2
		answer["message"] = "Replica(s) [books_shard1_replica_n1] are currently initializing or recovering"
	case r.URL.Path == pathHealth:
		answer["status"], answer["message"] = "OK", "All cores are healthy"
	case r.URL.Path == pathMetrics:
		answer["metrics"] = map[string]any{"solr.core.books.shard1.replica_n1": map[string]int{"INDEX.sizeInBytes": 69}}
	case r.URL.Path == pathBalance:
		var body struct {
			Async string `json:"async"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		c.tasks[body.Async] = 2
	case strings.HasSuffix(r.URL.Path, "/update"):
	case r.URL.Path == pathCollections:
		if problem := c.collectionsCall(action, r, answer); problem != "" {
			writeFailure(w, http.StatusBadRequest, problem)
			return
		}
	default:
		http.NotFound(w, r)
		return
	}
	if r.FormValue("omitHeader") != "true" {
		answer["responseHeader"] = map[string]int{"status": 0, "QTime": 3}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (c *fakeCluster) collectionsCall(action string, r *http.Request, answer map[string]any) (problem string) {
	id := r.FormValue("requestid")
	switch action {
	case "CLUSTERSTATUS":
		answer["cluster"] = c.status(r.FormValue("collection"))
		c.flush() // the next reader sees what was changed before this one
	case "OVERSEERSTATUS":
		if !c.noOverseer {
			answer["leader"] = c.overseer
			answer["overseer_collection_queue_size"] = 2 + c.working
		}
	case "ADDREPLICAPROP", "DELETEREPLICAPROP":
		return c.changeProperty(action, r.FormValue)
	case "REBALANCELEADERS":
		c.rebalance(r.FormValue("collection"))
		answer["Summary"] = map[string]string{"Success": "All active replicas with the preferredLeader property set are leaders"}
	case "REPLACENODE":
		if _, exists := c.tasks[r.FormValue("async")]; exists {
			return "Task with the same requestid already exists. (" + r.FormValue("async") + ")"
		}
		c.tasks[r.FormValue("async")] = 2
		c.each(func(collection, shard, _ string, copy *fakeReplica) {
			others := slices.ContainsFunc(slices.Collect(maps.Values(c.shards[collection][shard])), func(o *fakeReplica) bool {
				return o != copy && o.state == "active" && o.kind != "PULL" && c.live[o.node]
			})
			if copy.leader && others && copy.node == r.FormValue("sourceNode") {
				c.t.Errorf("%s is emptied while it leads %s/%s, which others could", copy.node, collection, shard)
			}
		})
		if c.failTasks > 0 {
			c.failTasks--
			c.tasks[r.FormValue("async")] = -1
			break
		}
		c.queued = append(c.queued, func() { c.replaceNode(r.FormValue("sourceNode")) })
	case "REQUESTSTATUS":
		answer["status"] = map[string]string{"state": c.poll(id), "msg": "found or not: " + id}
	case "DELETESTATUS":
		delete(c.tasks, id)
		answer["status"] = "successfully removed stored response for [" + id + "]"
	default:
		return "Unknown action: " + action
	}
	return ""
}

func (c *fakeCluster) poll(id string) string {
	left, exists := c.tasks[id]
	switch {
	case !exists:
		return "notfound"
	case left < 0:
		return "failed"
	case left > 0:
		c.tasks[id]--
		return "running"
	}
	return "completed"
}

func (c *fakeCluster) changeProperty(action string, value func(string) string) string {
	replica := c.shards[value("collection")][value("shard")][value("replica")]
	if replica == nil {
		return "Could not find replica " + value("replica")
	}
	name := "property." + strings.ToLower(value("property"))
	c.queued = append(c.queued, func() {
		if action == "DELETEREPLICAPROP" {
			delete(replica.properties, name)
			return
		}
		if name == "property.preferredleader" { // unique in the shard
			for _, other := range c.shards[value("collection")][value("shard")] {
				delete(other.properties, name)
			}
		}
		replica.properties[name] = value("property.value")
	})
	return ""
}

func (c *fakeCluster) flush() {
	for _, f := range c.queued {
		f()
	}
	c.queued = nil
}

// rebalance sees only what CLUSTERSTATUS has shown.
func (c *fakeCluster) rebalance(collection string) {
	if c.deafRebalances > 0 {
		c.deafRebalances--
		return
	}
	for _, replicas := range c.shards[collection] {
		for _, to := range replicas {
			if to.properties["property.preferredleader"] == "true" && to.state == "active" && c.live[to.node] {
				for _, r := range replicas {
					r.leader = r == to
				}
			}
		}
	}
}

func (c *fakeCluster) replaceNode(source string) {
	for _, shards := range c.shards {
		for _, replicas := range shards {
			taken := map[string]bool{}
			for _, r := range replicas {
				taken[r.node] = true
			}
			for _, r := range replicas {
				for _, node := range c.nodes {
					if r.node == source && !taken[node] {
						r.node = node
					}
				}
			}
		}
	}
}

func (c *fakeCluster) status(only string) map[string]any {
	collections := map[string]any{}
	for name, shards := range c.shards {
		if only != "" && name != only {
			continue
		}
		out := map[string]any{}
		for s, replicas := range shards {
			rs := map[string]any{}
			for rn, r := range replicas {
				host := strings.TrimSuffix(r.node, "_solr")
				entry := map[string]any{
					"core": name + "_" + s + "_replica_" + rn, "node_name": r.node, "base_url": "http://" + host + "/solr",
					"state": r.state, "type": r.kind, "force_set_state": "false",
				}
				if r.leader {
					entry["leader"] = "true"
				}
				for k, v := range r.properties {
					entry[k] = v
				}
				rs[rn] = entry
			}
			out[s] = map[string]any{"range": "80000000-7fffffff", "state": "active", "replicas": rs, "health": "GREEN"}
		}
		collections[name] = map[string]any{"pullReplicas": "0", "replicationFactor": 2, "shards": out, "health": "GREEN", "znodeVersion": 4}
	}
	live := []string{}
	for n, ok := range c.live {
		if ok {
			live = append(live, n)
		}
	}
	slices.Sort(live)
	return map[string]any{"live_nodes": live, "collections": collections, "properties": map[string]any{}, "roles": map[string]any{}}
}

func (c *fakeCluster) fault(i int, f enginetest.Fault) { c.servers[i].Set(f) }
