package solr

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

// TestRealConformance runs the suite against real servers, with a proxy before
// each that misbehaves when told to.
func TestRealConformance(t *testing.T) {
	t.Parallel() // each has a cluster of its own
	for _, version := range solrtest.Tried() {
		t.Run(version, func(t *testing.T) {
			c := solrtest.Start(t, solrtest.Options{Versions: []string{version, version, version}})
			enginetest.Run(t, enginetest.Harness{
				Patience:   15 * time.Second,
				Eventually: 90 * time.Second,
				Start:      func(t *testing.T) enginetest.Database { return realDatabase(t, c) },
			})
		})
	}
}

func realDatabase(t *testing.T, c *solrtest.Cluster) enginetest.Database {
	reset(c)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Waits())
		}
	})
	var (
		all     webtest.Allowance
		fronts  []*webtest.Front
		urls    []string
		members []string
	)
	all.Set(-1)
	for _, n := range c.Nodes {
		target, err := url.Parse(n.URL())
		require.NoError(t, err)
		proxy := httputil.NewSingleHostReverseProxy(target)
		transport := &http.Transport{DisableKeepAlives: true}
		proxy.Transport = transport
		front := &webtest.Front{Manners: manners, Allowed: &all, Handler: proxy}
		server := httptest.NewServer(front)
		t.Cleanup(server.Close)
		fronts, urls, members = append(fronts, front), append(urls, server.URL), append(members, n.Name)
	}
	return enginetest.Database{
		Members: members,
		Engine: func(i int) engines.Engine {
			host, port := webtest.Address(t, urls[i])
			o := testOptions(Options{Access: web.Access{Host: host, Port: port}})
			o.Timeout, o.WriteTimeout, o.Poll = 2*time.Second, 30*time.Second, 50*time.Millisecond
			e, err := New(o)
			require.NoError(t, err)
			return e
		},
		Fault: func(i int, f enginetest.Fault) { fronts[i].Set(f) },
		FailChanges: func(after int) {
			if after < 0 {
				time.Sleep(time.Second) // what Solr has accepted shows in its state
			}
			all.Set(after)
		},
		Leads: func(i int) int {
			return countReplicas(c, func(r map[string]any) bool { return r["node_name"] == members[i] && r["leader"] == "true" })
		},
		Hosts: func(i int) int {
			return countReplicas(c, func(r map[string]any) bool { return r["node_name"] == members[i] })
		},
		Leftovers: func() []string { return realLeftovers(c) },
		Foreign:   func() func() bool { return realForeign(t, c) },
		Secrets:   []string{testPassword, web.BasicToken("rollcall", credentials.NewSecret(testPassword))},
	}
}

// reset makes node 0 the leader of everything, with node 2 able to take over; with
// new collections only if the old ones were moved about.
func reset(c *solrtest.Cluster) {
	n := c.Nodes[0]
	on := func(node int) int {
		return countReplicas(c, func(r map[string]any) bool { return r["node_name"] == c.Nodes[node].Name })
	}
	if on(0) == 4 && on(1) == 0 && on(2) == 4 && len(realLeftovers(c)) == 0 {
		prefer(c, 0)
		return
	}
	c.AwaitElections()
	for name := range n.State() {
		n.Collections("DELETE", "name", name)
	}
	set := c.Nodes[0].Name + "," + c.Nodes[2].Name
	n.Create("books", "numShards", "2", "nrtReplicas", "2", "createNodeSet", set, "createNodeSet.shuffle", "false")
	n.Create("pages", "numShards", "2", "tlogReplicas", "2", "createNodeSet", set, "createNodeSet.shuffle", "false")
	prefer(c, 0)
}

// prefer makes the node lead every shard of which it has a copy that can.
func prefer(c *solrtest.Cluster, node int) {
	n := c.Nodes[node]
	type at struct{ collection, shard, replica string }
	var set []at
	for col, shards := range n.State() {
		moved := false
		for s, replicas := range shards {
			for name, r := range replicas {
				if r["node_name"] == n.Name && r["leader"] != "true" && r["type"] != "PULL" {
					n.Collections("ADDREPLICAPROP", "collection", col, "shard", s, "replica", name, "property", "preferredLeader", "property.value", "true")
					set, moved = append(set, at{col, s, name}), true
				}
			}
		}
		if moved {
			time.Sleep(500 * time.Millisecond)
			n.Collections("REBALANCELEADERS", "collection", col)
		}
	}
	for _, a := range set {
		n.Collections("DELETEREPLICAPROP", "collection", a.collection, "shard", a.shard, "replica", a.replica, "property", "preferredLeader")
	}
	if len(set) > 0 {
		time.Sleep(500 * time.Millisecond)
	}
}

func countReplicas(c *solrtest.Cluster, want func(map[string]any) bool) int {
	n := 0
	for _, shards := range c.Nodes[len(c.Nodes)-1].State() {
		for _, replicas := range shards {
			for _, r := range replicas {
				if want(r) {
					n++
				}
			}
		}
	}
	return n
}

func realLeftovers(c *solrtest.Cluster) []string {
	var out []string
	for col, shards := range c.Nodes[2].State() {
		for s, replicas := range shards {
			for name, r := range replicas {
				for key, value := range r {
					if strings.HasPrefix(key, "property.") {
						out = append(out, strings.Join([]string{col, s, name, key, value.(string)}, " "))
					}
				}
			}
		}
	}
	for _, claim := range []string{"claim-1", "claim-2"} {
		body := c.Nodes[2].Collections("REQUESTSTATUS", "requestid", evacuateTask(claim))
		if !strings.Contains(string(body), "notfound") {
			out = append(out, "task of "+claim)
		}
	}
	return out
}

func realForeign(t *testing.T, c *solrtest.Cluster) func() bool {
	n := c.Nodes[0]
	for name, r := range n.State()["books"]["shard1"] {
		if r["node_name"] != n.Name {
			continue
		}
		for property, value := range map[string]string{"preferredLeader": "true", "rollcall": "foreign"} {
			n.Collections("ADDREPLICAPROP", "collection", "books", "shard", "shard1", "replica", name, "property", property, "property.value", value)
		}
		time.Sleep(500 * time.Millisecond)
		return func() bool {
			r := c.Nodes[2].State()["books"]["shard1"][name]
			return r["property.preferredleader"] == "true" && r["property.rollcall"] == "foreign"
		}
	}
	t.Fatal("no copy of books/shard1 on the first node")
	return nil
}
