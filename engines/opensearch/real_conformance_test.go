package opensearch

import (
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// envNodes names the nodes of a real cluster that is there for nothing else: the
// URLs of three nodes with all roles, called db-0, db-1 and db-2, in this order.
const envNodes = "ROLLCALL_OPENSEARCH_NODES"

func realURLs(t *testing.T) []string {
	value := os.Getenv(envNodes)
	if value == "" {
		require.NotContains(t, os.Getenv("ROLLCALL_REQUIRE"), "opensearch", "%s is not set", envNodes)
		t.Skipf("%s names no cluster", envNodes)
	}
	return strings.Split(value, ",")
}

// call repeats what is refused for a while: a change may come at a bad moment.
func call(t *testing.T, base, method, path, body string) map[string]any {
	var last string
	for range 40 {
		req, err := http.NewRequest(method, base+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Close = true
		r, err := http.DefaultClient.Do(req)
		if err == nil {
			data, _ := io.ReadAll(r.Body)
			r.Body.Close()
			out := map[string]any{}
			_ = json.Unmarshal(data, &out)
			if r.StatusCode < 300 {
				return out
			}
			last = string(data)
		} else {
			last = err.Error()
		}
		time.Sleep(250 * time.Millisecond)
	}
	t.Fatalf("%s %s: %s", method, path, last)
	return nil
}

// TestRealConformance runs the suite against real servers, with a proxy before
// each that misbehaves when told to.
func TestRealConformance(t *testing.T) {
	urls := realURLs(t)
	enginetest.Run(t, enginetest.Harness{
		Patience: 30 * time.Second, Eventually: 90 * time.Second,
		Start: func(t *testing.T) enginetest.Database { return realDatabase(t, urls) },
	})
}

func realReading(t *testing.T, at string) (*reading, health) {
	host, port := splitURL(t, at)
	e := mustNew(t, Options{Host: host, Port: port})
	defer e.Close()
	r, err := e.api.reading(t.Context(), nil, nil)
	require.NoError(t, err)
	h, err := e.api.health(t.Context())
	require.NoError(t, err)
	return r, h
}

func realDatabase(t *testing.T, urls []string) enginetest.Database {
	base := urls[len(urls)-1]
	var names []string
	for i := range urls {
		names = append(names, fmt.Sprintf("db-%d", i))
	}
	call(t, base, "DELETE", pathVoting+"?wait_for_removal=false", "")
	clear := map[string]any{settingExclude: nil, settingAllocation: nil, "cluster.metadata.*": nil, "cluster.routing.rebalance.enable": nil}
	body, _ := json.Marshal(map[string]any{"persistent": clear, "transient": clear})
	call(t, base, "PUT", pathSettings, string(body))
	call(t, base, "PUT", pathSettings, `{"persistent":{"cluster.routing.rebalance.enable":"none"}}`)
	call(t, base, "DELETE", "/real-*?expand_wildcards=all", "")
	// db-0 is to be elected, and to have copies; then nothing is to move by itself.
	if r, _ := realReading(t, base); r.state.nodes[r.state.elected].name != "db-0" {
		call(t, base, "POST", pathVoting+"?timeout=30s&node_names="+strings.Join(names[1:], ","), "")
		require.Eventually(t, func() bool { r, _ := realReading(t, base); return r.state.nodes[r.state.elected].name == "db-0" }, time.Minute, 100*time.Millisecond)
		call(t, base, "DELETE", pathVoting+"?wait_for_removal=false", "")
	}
	for name, replicas := range map[string]int{"real-one": 1, "real-none": 0} {
		call(t, base, "PUT", "/"+name, fmt.Sprintf(`{"settings":{"number_of_shards":2,"number_of_replicas":%d,"index.routing.allocation.include._name":"db-0,db-1"}}`, replicas))
		call(t, base, "PUT", "/"+name+"/_settings", `{"index.routing.allocation.include._name":null}`)
	}
	require.Eventually(t, func() bool {
		r, h := realReading(t, base)
		id, _ := r.state.byName("db-0")
		return h.status == "green" && len(r.voting.committed) == 3 && r.state.hosted(id) > 0
	}, time.Minute, 100*time.Millisecond)
	var all allowance
	all.set(-1)
	var fronts []*faulty
	var served []string
	for _, u := range urls {
		target, err := url.Parse(u)
		require.NoError(t, err)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.Transport = &http.Transport{DisableKeepAlives: true}
		front := &faulty{Handler: proxy, changes: &all}
		server := httptest.NewServer(front)
		t.Cleanup(server.Close)
		fronts, served = append(fronts, front), append(served, server.URL)
	}
	members := func(i int, want func(engines.Member) bool) int {
		r, _ := realReading(t, base)
		n := 0
		for _, g := range r.groups() {
			for _, m := range g.Members {
				n += count(m.Node == names[i] && want(m))
			}
		}
		return n
	}
	return enginetest.Database{
		Members: names,
		Engine: func(i int) engines.Engine {
			host, port := splitURL(t, served[i])
			o := testOptions(Options{Host: host, Port: port})
			o.Timeout, o.WriteTimeout, o.MaxBytes = 4*time.Second, 20*time.Second, 1<<20
			e, err := New(o)
			require.NoError(t, err)
			return e
		},
		Fault:       func(i int, f enginetest.Fault) { fronts[i].set(f) },
		FailChanges: all.set,
		Leads:       func(i int) int { return members(i, func(m engines.Member) bool { return m.Leader }) },
		Hosts:       func(i int) int { return members(i, func(engines.Member) bool { return true }) },
		Leftovers: func() []string {
			r, _ := realReading(t, base)
			var out []string
			for _, x := range r.voting.exclusions {
				if x.Name != "gone-1" {
					out = append(out, "vote "+x.Name)
				}
			}
			for _, m := range r.settings.marks() {
				out = append(out, m.String())
			}
			return append(out, slices.DeleteFunc(r.settings.excluded(), func(s string) bool { return s == foreignName })...)
		},
		Foreign: func() func() bool {
			call(t, base, "POST", pathVoting+"?node_names=gone-1", "")
			call(t, base, "PUT", pathSettings, `{"persistent":{"cluster.metadata.rollcall.theirs":"`+foreignMark+`","`+settingExclude+`":"`+foreignName+`"}}`)
			return func() bool {
				r, _ := realReading(t, base)
				return r.voting.excludes("", "gone-1") && r.settings.effective(settingExclude) == foreignName && r.settings.persistent["cluster.metadata.rollcall.theirs"] == foreignMark
			}
		},
		Secrets: []string{testPassword, basicToken("rollcall", NewSecret(testPassword))},
	}
}
