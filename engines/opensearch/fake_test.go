package opensearch

import (
	"cmp"
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

// fakeCluster is an OpenSearch of some nodes, as far as the adapter can see.
type fakeCluster struct {
	t       *testing.T
	names   []string
	servers []*webtest.Front
	urls    []*httptest.Server
	allowed webtest.Allowance
	network webtest.Network
	conns   webtest.Connections

	mu                    sync.Mutex
	nodes                 map[string]*fakeNode // by id
	elected               string
	voters                []string
	exclusions            []exclusion
	persistent, transient map[string]any
	shards                map[string][]*fakeCopy // by index/number
	snapshot              string
	queued                bool
	still                 bool              // copies do not move
	deaf                  bool              // exclusions from voting have no effect
	expand                map[string]string // auto_expand_replicas by index
	unready               map[string]bool
	removed               string // a setting that the elected manager's version has no more
	versions              int    // of the state
	requests              map[string]int
}

type fakeNode struct {
	name, version, process string
	roles                  []string
	away                   bool
}

type fakeCopy struct {
	primary                   bool
	state, node, target, info string
	delayed                   bool
	status                    string // of its allocation
}

// newFakeCluster starts n nodes with the same roles, the first of them elected.
func newFakeCluster(t *testing.T, n int, roles ...string) *fakeCluster {
	c := &fakeCluster{
		t: t, nodes: map[string]*fakeNode{}, persistent: map[string]any{}, transient: map[string]any{},
		shards: map[string][]*fakeCopy{}, unready: map[string]bool{}, requests: map[string]int{}, elected: "id-0",
	}
	c.allowed.Set(-1)
	for i := range n {
		id := fmt.Sprintf("id-%d", i)
		name := fmt.Sprintf("db-%d", i)
		c.names = append(c.names, name)
		c.nodes[id] = &fakeNode{name: name, version: "2.19.4", process: "p1-" + id, roles: roles}
		f := &webtest.Front{Manners: manners, Allowed: &c.allowed, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(id, w, r) })}
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
	c.reconfigure()
	return c
}

// add places a primary on the first node and replicas on the others; -1 is a
// replica that is nowhere.
func (c *fakeCluster) add(shard string, nodes ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, n := range nodes {
		copy := &fakeCopy{primary: i == 0, state: "UNASSIGNED", info: "NODE_LEFT", delayed: true}
		if n >= 0 {
			copy = &fakeCopy{primary: i == 0, state: "STARTED", node: fmt.Sprintf("id-%d", n)}
		}
		c.shards[shard] = append(c.shards[shard], copy)
	}
	c.versions++
}

func (c *fakeCluster) locked(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.versions++
}

func (c *fakeCluster) options(i int) Options {
	host, port := webtest.Address(c.t, c.urls[i].URL)
	return Options{Access: web.Access{Host: host, Port: port, Dial: c.network.Dial}}
}

func (c *fakeCluster) fault(i int, f enginetest.Fault) { c.servers[i].Set(f) }

func (n *fakeNode) manages() bool {
	return slices.Contains(n.roles, "cluster_manager") || slices.Contains(n.roles, "master")
}

func (c *fakeCluster) excluded(id string) bool {
	return slices.ContainsFunc(c.exclusions, func(x exclusion) bool { return x.ID == id })
}

// reconfigure chooses voters as OpenSearch does: an odd number of those that are
// there and not excluded, never fewer than three of three, and the elected manager
// before others. One that may not vote any more hands over.
func (c *fakeCluster) reconfigure() {
	var live []string
	inConfig := 0
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		if n := c.nodes[id]; n.manages() && !n.away && !c.excluded(id) {
			live = append(live, id)
		}
	}
	for _, id := range c.voters {
		inConfig += count(!c.excluded(id))
	}
	slices.SortStableFunc(live, func(a, b string) int { return cmp.Compare(count(b == c.elected), count(a == c.elected)) })
	size := max(len(live)-(1-len(live)%2), 1)
	if inConfig >= 3 {
		size = max(size, 3)
	}
	if len(live) == 0 {
		return // nobody else: all stays as it is
	}
	c.voters = live[:min(size, len(live))]
	if !slices.Contains(c.voters, c.elected) {
		c.elected = c.voters[0]
	}
}

// settle moves what may not stay where it is: what was seen moving arrives, and
// something else begins to move.
func (c *fakeCluster) settle() {
	excluded := c.excludedNames()
	for at, copies := range c.shards {
		if index, _, _ := strings.Cut(at, "/"); strings.HasPrefix(c.expand[index], "0-") {
			c.shards[at] = slices.DeleteFunc(copies, func(o *fakeCopy) bool { return !o.primary && slices.Contains(excluded, c.nodes[o.node].name) })
			c.versions += len(copies) - len(c.shards[at])
			continue
		}
		for _, copy := range copies {
			if copy.state == "RELOCATING" {
				copy.state, copy.node, copy.target = "STARTED", copy.target, ""
				c.versions++
			} else if copy.state == "STARTED" && slices.Contains(excluded, c.nodes[copy.node].name) && !c.still {
				if to := c.free(copies, excluded); to != "" {
					copy.state, copy.target = "RELOCATING", to
					c.versions++
				}
			}
		}
	}
}

func (c *fakeCluster) free(copies []*fakeCopy, excluded []string) string {
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		taken := slices.ContainsFunc(copies, func(o *fakeCopy) bool { return o.node == id || o.target == id })
		if !taken && !c.nodes[id].away && !slices.Contains(excluded, c.nodes[id].name) {
			return id
		}
	}
	return ""
}

func (c *fakeCluster) excludedNames() []string {
	value, ok := c.transient[settingExclude]
	if !ok {
		value = c.persistent[settingExclude]
	}
	s, _ := value.(string)
	return entries(s)
}

func (c *fakeCluster) asked(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[path]
}

// leftovers are what is neither as it was nor somebody else's.
func (c *fakeCluster) leftovers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, x := range c.exclusions {
		if x.Name != foreignVoter {
			out = append(out, "voting exclusion of "+x.Name)
		}
	}
	for level, values := range map[string]map[string]any{"persistent": c.persistent, "transient": c.transient} {
		for name, value := range values {
			switch {
			case strings.HasPrefix(name, markPrefix) && value != foreignMark:
				out = append(out, level+" "+name)
			case name == settingExclude && value != foreignName:
				out = append(out, fmt.Sprint(level, " ", name, " ", value))
			}
		}
	}
	return out
}

const (
	foreignVoter = "db-3"
	foreignName  = "old-node"
	foreignMark  = "looks like one"
)

// foreign are entries that people made.
func (c *fakeCluster) foreign() func() bool {
	c.locked(func() {
		c.exclusions = append(c.exclusions, exclusion{"id-3", foreignVoter})
		c.persistent[settingExclude] = foreignName
		c.persistent[markPrefix+"theirs"] = foreignMark
		c.reconfigure()
	})
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.excluded("id-3") && c.persistent[settingExclude] == foreignName && c.persistent[markPrefix+"theirs"] == foreignMark
	}
}

// leads counts the voting configurations in which the node is the elected one.
func (c *fakeCluster) leads(i int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := fmt.Sprintf("id-%d", i); c.elected == id && slices.Contains(c.voters, id) {
		return 2
	}
	return 0
}

// hosts counts copies, votes, and the data role while it is served.
func (c *fakeCluster) hosts(i int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := fmt.Sprintf("id-%d", i)
	n := 2*count(slices.Contains(c.voters, id)) + count(!slices.Contains(c.excludedNames(), c.names[i]))
	for _, copies := range c.shards {
		for _, copy := range copies {
			n += count(copy.node == id || copy.target == id)
		}
	}
	return n
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
