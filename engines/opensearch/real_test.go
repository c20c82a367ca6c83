package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

func realEngine(t *testing.T, n *opensearchtest.Node) *Engine {
	return mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port}})
}

// repeat until Done, and returns all that was said.
func repeat(t *testing.T, round func() (engines.Progress, error)) []string {
	t.Helper()
	var said []string
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		p, err := round()
		if p.Detail != "" {
			said = append(said, p.Detail)
		}
		if err == nil && p.State == engines.ProgressDone {
			return said
		}
		require.NotEqual(t, engines.ProgressRefused, p.State, p.Detail)
		require.True(t, time.Now().Before(deadline), "%+v %v", p, err)
	}
}

// await observes until it is as wanted.
func await(t *testing.T, e *Engine, why string, want func(engines.Observation) bool) engines.Observation {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		o, err := e.Observe(t.Context())
		if err == nil && want(o) {
			return o
		}
		require.True(t, time.Now().Before(deadline), "%s: %+v %v", why, o, err)
	}
}

// writer writes documents one after the other, each of a name of its own, to nodes
// that are not away.
type writer struct {
	nodes                []*opensearchtest.Node
	away, wrote, refused atomic.Int64
	failures             chan string
}

func (w *writer) run(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		at := i % len(w.nodes)
		if int64(at) == w.away.Load() {
			continue
		}
		index := []string{"documents", "segments"}[i/len(w.nodes)%2]
		answer, status, err := w.nodes[at].Try(http.MethodPut, fmt.Sprintf("/%s/_doc/%d", index, i), `{"said":"hello"}`)
		// 200: OpenSearch itself wrote it once more, to the next primary.
		if err != nil || status != http.StatusCreated && status != http.StatusOK {
			w.refused.Add(1)
			select {
			case w.failures <- fmt.Sprintf("%d %s %v", status, answer, err):
			default:
			}
			continue
		}
		w.wrote.Add(1)
		time.Sleep(10 * time.Millisecond)
	}
}

// TestRealUpgrade takes a cluster from the oldest version to the newest as an agent
// would, the elected manager last, while documents are written: none is refused and
// none is lost, and nothing of ours is left, though a setting that the newest
// version has no more keeps changes from being made.
func TestRealUpgrade(t *testing.T) {
	from, to := opensearchtest.Versions[0], opensearchtest.Versions[len(opensearchtest.Versions)-1]
	opensearchtest.Home(t, from, to)
	c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{from, from, from}})
	n := c.Nodes[0]
	n.AwaitHealth("green", 3)
	n.CreateIndex("documents", 2, 1)
	n.Call("PUT", "/segments?wait_for_active_shards=all", `{"settings":{"number_of_shards":1,"number_of_replicas":2,"replication.type":"SEGMENT"}}`)
	const removed = "compatibility.override_main_response_version"
	n.Call("PUT", pathSettings, `{"persistent":{"`+removed+`":"true"}}`)
	n.AwaitHealth("green", 3)

	w := &writer{nodes: c.Nodes, failures: make(chan string, 3)}
	w.away.Store(-1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.run(ctx) }()

	said := roll(t, c, rolling{to: to, engine: realEngine, away: &w.away})
	o := await(t, realEngine(t, n), "whole", func(o engines.Observation) bool { return o.Settled && o.Health.Verdict == engines.VerdictGreen })
	require.Len(t, o.Nodes, len(c.Nodes))
	cancel()
	<-ended

	t.Logf("%d documents; said: %s", w.wrote.Load(), strings.Join(said, "\n"))
	require.Zero(t, w.refused.Load(), "%s", drain(w.failures))
	n.Call("POST", "/documents,segments/_refresh", "")
	// With segment replication a replica shows new documents some time after its primary.
	var answer struct{ Count int64 }
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		require.NoError(t, json.Unmarshal(n.Call("GET", "/documents,segments/_count", ""), &answer))
		if answer.Count == w.wrote.Load() || time.Now().After(deadline) {
			break
		}
	}
	require.Equal(t, w.wrote.Load(), answer.Count)
	r, _ := realReading(t, n)
	require.Equal(t, map[string]string{asidePrefix + removed: "true"}, r.settings.persistent)
	require.Empty(t, r.settings.transient)
	require.Empty(t, r.voting.exclusions)
	require.Equal(t, 1, strings.Count(strings.Join(said, "\n"), archivedPrefix+removed), "said once")
}

// rolling is how the nodes of a cluster are updated, as agents and a coordinator would.
type rolling struct {
	to     string
	engine func(*testing.T, *opensearchtest.Node) *Engine
	// away is the node that nobody writes to.
	away *atomic.Int64
	// after is called after each node, with how many are updated; nil: nothing is.
	after func(updated int)
}

// roll updates all nodes one by one, and returns what was said.
func roll(t *testing.T, c *opensearchtest.Cluster, r rolling) []string {
	t.Helper()
	var said, updated []string
	for len(updated) < len(c.Nodes) {
		i := next(t, c.Nodes, updated, r.engine)
		node, other := c.Nodes[i], c.Nodes[(i+1)%len(c.Nodes)]
		e := r.engine(t, node)
		await(t, e, "before", func(o engines.Observation) bool {
			return o.Settled && (o.Health.Verdict == engines.VerdictGreen || o.Health.Verdict == engines.VerdictRecoverable)
		})
		order := engines.Order{Kind: engines.Handoff, Claim: "update-" + node.Name, Eligible: updated}
		setting, err := e.PlanSetting(t.Context(), order)
		require.NoError(t, err)
		order.Setting = setting
		undo, err := e.PlanDrain(t.Context(), order)
		require.NoError(t, err)
		said = append(said, repeat(t, func() (engines.Progress, error) { return e.Drain(t.Context(), order, undo) })...)
		r.away.Store(int64(i)) // as when the pod leaves the Service
		time.Sleep(200 * time.Millisecond)
		node.Stop()
		watcher := r.engine(t, other)
		o := await(t, watcher, "away", func(o engines.Observation) bool { return len(o.Nodes) == len(c.Nodes)-1 })
		require.NotEqual(t, engines.VerdictRed, o.Health.Verdict, o.Health.Reason)
		node.Version = r.to
		node.Start()
		o = await(t, e, "back", func(o engines.Observation) bool { return o.Member == engines.MembershipLive })
		require.Equal(t, r.to, o.Version)
		if setting.Name != "" { // a node without copies needs none
			said = append(said, repeat(t, func() (engines.Progress, error) { return e.RestoreSetting(t.Context(), setting, time.Time{}) })...)
		}
		said = append(said, repeat(t, func() (engines.Progress, error) { return e.Restore(t.Context(), undo) })...)
		r.away.Store(-1)
		if updated = append(updated, node.Name); r.after != nil {
			r.after(len(updated))
		}
	}
	return said
}

// next is a node of the lowest rank that is not updated, the elected manager only when all others are.
func next(t *testing.T, nodes []*opensearchtest.Node, updated []string, engine func(*testing.T, *opensearchtest.Node) *Engine) int {
	found, last, rank := -1, -1, 0
	for i, n := range nodes {
		o := await(t, engine(t, n), "next", func(o engines.Observation) bool { return o.Member == engines.MembershipLive })
		switch {
		case slices.Contains(updated, n.Name):
		case o.Last:
			last = i
		case found < 0 || o.Rank < rank:
			found, rank = i, o.Rank
		}
	}
	if found < 0 {
		found = last
	}
	require.GreaterOrEqual(t, found, 0)
	return found
}

func drain(c chan string) []string {
	var out []string
	for {
		select {
		case s := <-c:
			out = append(out, s)
		default:
			return out
		}
	}
}
