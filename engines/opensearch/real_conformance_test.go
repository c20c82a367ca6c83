package opensearch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

// envAll runs the suite on the older version and on a mixed cluster, too.
const envAll = "ROLLCALL_OPENSEARCH_ALL"

// TestRealConformance runs the suite against real servers, with a proxy before
// each that misbehaves when told to.
func TestRealConformance(t *testing.T) {
	oldest, newest := opensearchtest.Versions[0], opensearchtest.Versions[len(opensearchtest.Versions)-1]
	clusters := [][]string{{newest, newest, newest}}
	if os.Getenv(envAll) != "" {
		clusters = append(clusters, []string{oldest, oldest, oldest}, []string{oldest, oldest, newest})
	}
	for _, versions := range clusters {
		t.Run(strings.Join(versions, "+"), func(t *testing.T) {
			c := opensearchtest.Start(t, opensearchtest.Options{Versions: versions})
			enginetest.Run(t, enginetest.Harness{
				Patience: 30 * time.Second, Eventually: 90 * time.Second,
				Start: func(t *testing.T) enginetest.Database { return realDatabase(t, c) },
			})
		})
	}
}

// realReading asks the node without anything in between.
func realReading(t *testing.T, n *opensearchtest.Node) (*reading, health) {
	e, err := New(Options{Access: web.Access{Host: n.Host, Port: n.Port}})
	require.NoError(t, err)
	defer e.Close()
	var r *reading
	var h health
	require.Eventually(t, func() (ok bool) {
		var readErr, healthErr error
		r, readErr = e.api.reading(t.Context(), nil, nil)
		h, healthErr = e.api.health(t.Context())
		return readErr == nil && healthErr == nil
	}, time.Minute, 100*time.Millisecond)
	return r, h
}

// mend repeats what is refused for a while: a change may come at a bad moment.
func mend(t *testing.T, n *opensearchtest.Node, method, path, body string) {
	t.Helper()
	var last string
	for range 40 {
		answer, status, err := n.Try(method, path, body)
		if err == nil && status < http.StatusMultipleChoices {
			return
		}
		last = fmt.Sprintf("%d %s %v", status, answer, err)
		time.Sleep(250 * time.Millisecond)
	}
	require.FailNow(t, "refused", "%s %s: %s", method, path, last)
}

// reset makes the cluster as new: no indices, no settings, node 0 elected.
func reset(t *testing.T, c *opensearchtest.Cluster) {
	n := c.Nodes[len(c.Nodes)-1]
	mend(t, n, "DELETE", pathVoting+"?wait_for_removal=false", "")
	none := map[string]any{settingExclude: nil, settingAllocation: nil, "cluster.metadata.*": nil}
	body, err := json.Marshal(map[string]any{"persistent": none, "transient": none})
	require.NoError(t, err)
	mend(t, n, "PUT", pathSettings, string(body))
	// Nothing is to move by itself.
	mend(t, n, "PUT", pathSettings, `{"persistent":{"cluster.routing.rebalance.enable":"none"}}`)
	mend(t, n, "DELETE", "/real-*?expand_wildcards=all", "")
	first := c.Nodes[0].Name
	elected := func() bool { r, _ := realReading(t, n); return r.state.nodes[r.state.elected].name == first }
	if !elected() {
		var others []string
		for _, other := range c.Nodes[1:] {
			others = append(others, other.Name)
		}
		mend(t, n, "POST", pathVoting+"?timeout=30s&node_names="+strings.Join(others, ","), "")
		require.Eventually(t, elected, time.Minute, 100*time.Millisecond)
		mend(t, n, "DELETE", pathVoting+"?wait_for_removal=false", "")
	}
}

func realDatabase(t *testing.T, c *opensearchtest.Cluster) enginetest.Database {
	reset(t, c)
	n := c.Nodes[len(c.Nodes)-1]
	first, second := c.Nodes[0].Name, c.Nodes[1].Name
	for name, replicas := range map[string]int{"real-one": 1, "real-none": 0} {
		mend(t, n, "PUT", "/"+name, fmt.Sprintf(
			`{"settings":{"number_of_shards":2,"number_of_replicas":%d,"index.routing.allocation.include._name":"%s,%s"}}`, replicas, first, second))
		mend(t, n, "PUT", "/"+name+"/_settings", `{"index.routing.allocation.include._name":null}`)
	}
	require.Eventually(t, func() bool {
		r, h := realReading(t, n)
		id, _ := r.state.byName(first)
		return h.status == "green" && len(r.voting.committed) == len(c.Nodes) && r.state.hosted(id) > 0
	}, time.Minute, 100*time.Millisecond)
	var all webtest.Allowance
	all.Set(-1)
	var fronts []*webtest.Front
	var served, names []string
	for _, node := range c.Nodes {
		target, err := url.Parse(node.URL())
		require.NoError(t, err)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.Transport = &http.Transport{DisableKeepAlives: true}
		front := &webtest.Front{Manners: manners, Allowed: &all, Handler: proxy}
		server := httptest.NewServer(front)
		t.Cleanup(server.Close)
		fronts, served, names = append(fronts, front), append(served, server.URL), append(names, node.Name)
	}
	members := func(i int, want func(engines.Member) bool) int {
		r, _ := realReading(t, n)
		total := 0
		for _, g := range r.groups() {
			for _, m := range g.Members {
				total += count(m.Node == names[i] && want(m))
			}
		}
		return total
	}
	return enginetest.Database{
		Members: names,
		Engine: func(i int) engines.Engine {
			host, port := webtest.Address(t, served[i])
			o := testOptions(Options{Access: web.Access{Host: host, Port: port}})
			o.Timeout, o.WriteTimeout, o.MaxBytes = 4*time.Second, 20*time.Second, 1<<20
			e, err := New(o)
			require.NoError(t, err)
			return e
		},
		Fault:       func(i int, f enginetest.Fault) { fronts[i].Set(f) },
		FailChanges: all.Set,
		Leads:       func(i int) int { return members(i, func(m engines.Member) bool { return m.Leader }) },
		Hosts:       func(i int) int { return members(i, func(engines.Member) bool { return true }) },
		Leftovers:   func() []string { return realLeftovers(t, n) },
		Foreign:     func() func() bool { return realForeign(t, n) },
		Secrets:     []string{testPassword, web.BasicToken("rollcall", credentials.NewSecret(testPassword))},
	}
}

func realLeftovers(t *testing.T, n *opensearchtest.Node) []string {
	r, _ := realReading(t, n)
	var out []string
	for _, x := range r.voting.exclusions {
		if x.Name != realForeignVoter {
			out = append(out, "vote "+x.Name)
		}
	}
	for _, m := range r.settings.marks() {
		out = append(out, m.String())
	}
	return append(out, slices.DeleteFunc(r.settings.excluded(), func(s string) bool { return s == foreignName })...)
}

// realForeignVoter is no node: a real one would be needed to decide.
const realForeignVoter = "gone-1"

func realForeign(t *testing.T, n *opensearchtest.Node) func() bool {
	theirs := markPrefix + "theirs"
	mend(t, n, "POST", pathVoting+"?node_names="+realForeignVoter, "")
	mend(t, n, "PUT", pathSettings, fmt.Sprintf(`{"persistent":{%q:%q,%q:%q}}`, theirs, foreignMark, settingExclude, foreignName))
	return func() bool {
		r, _ := realReading(t, n)
		return r.voting.excludes("", realForeignVoter) && r.settings.effective(settingExclude) == foreignName &&
			r.settings.persistent[theirs] == foreignMark
	}
}
