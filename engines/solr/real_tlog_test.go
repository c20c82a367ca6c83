package solr

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
	"github.com/rollcall-dev/rollcall/test/e2e/load"
)

// TestRealTLOGHandovers hands over nodes whose copies are all of type TLOG, stops or kills each at once, and looks for
// every acknowledged document in the indexes of those that lead then. One collection is written to fast, so that a copy
// that comes back is far behind, and one slowly.
func TestRealTLOGHandovers(t *testing.T) {
	if os.Getenv(solrtest.EnvAll) == "" {
		t.Skip(solrtest.EnvAll + " is not set")
	}
	for _, version := range []string{"9.10.1", "10.0.0"} {
		t.Run(version, func(t *testing.T) { handoversOfTLOG(t, version) })
	}
}

var drainsOfTLOG = flag.Int("tlog.drains", 6, "how many nodes are handed over of each version; each of them leads some shards")

func handoversOfTLOG(t *testing.T, version string) {
	c := solrtest.Start(t, solrtest.Options{Versions: []string{version, version, version}, SessionTimeout: 6 * time.Second, Heap: 512})
	c.Nodes[0].Create("fast", "numShards", "4", "tlogReplicas", "2")
	c.Nodes[0].Create("slow", "numShards", "4", "tlogReplicas", "3")
	var away atomic.Int64
	away.Store(-1)
	there := func() (urls []string) {
		for i, n := range c.Nodes {
			if int64(i) != away.Load() {
				urls = append(urls, n.URL())
			}
		}
		return urls
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	clients := map[string]*load.Client{}
	for name, think := range map[string]time.Duration{"fast": 20 * time.Millisecond, "slow": 500 * time.Millisecond} {
		client, err := load.New(load.Options{Database: load.Solr{Leaders: true}, Prefix: name, Collections: []string{name}, Targets: there, Think: think})
		require.NoError(t, err)
		clients[name] = client
		running.Go(func() { client.Run(ctx) })
	}
	backwards := &backwards{}
	running.Go(func() { backwards.watch(ctx, c, "fast", &away) })
	lost, moved := 0, 0
	gone := func(when string) {
		for name, client := range clients {
			var docs []load.Doc
			var err error
			for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
				if docs, err = client.Gone(name); err == nil {
					break
				}
			}
			require.NoError(t, err, when)
			if len(docs) > 0 {
				lost += len(docs)
				t.Logf("%s: %d documents of %s are gone: %s ... %s", when, len(docs), name, docs[0], docs[len(docs)-1])
			}
		}
	}
	for drain := range *drainsOfTLOG {
		i := drain % len(c.Nodes)
		n := c.Nodes[i]
		e := realEngine(t, n)
		await(t, e, "before", whole)
		leads := countReplicas(c, func(r map[string]any) bool { return r["node_name"] == n.Name && r["leader"] == "true" })
		begin := time.Now()
		undo := handOver(t, e, engines.Order{Kind: engines.Handoff, Claim: fmt.Sprintf("drain-%d", drain)})
		took := time.Since(begin)
		away.Store(int64(i))
		how := "stopped"
		if drain%2 == 0 {
			how = "killed"
			n.Kill()
		} else {
			n.Stop()
		}
		gone(how)
		n.Start()
		await(t, e, "back", whole)
		away.Store(-1)
		restoreAll(t, e, undo)
		moved += leads
		t.Logf("drain %d: node %d led %d shards, handed over in %s, %s, %s in all", drain, i, leads, took.Round(time.Millisecond), how, time.Since(begin).Round(time.Millisecond))
	}
	cancel()
	running.Wait()
	gone("at the end")
	for name, client := range clients {
		stats := client.Stats()
		t.Logf("%s: %d requests, %d acknowledged documents, %d failed: %v", name, stats.Requests, stats.Acked[name], stats.Failed, stats.Failures)
	}
	t.Logf("%d handovers of shards, %d documents lost; what the leaders show: %s", moved, lost, backwards)
	require.Zero(t, lost)
}

// handOver asks as long as an agent does: no answer in time is no reason to give up.
func handOver(t *testing.T, e *Engine, order engines.Order) (undo []byte) {
	require.Eventually(t, func() (done bool) {
		var p engines.Progress
		var err error
		if undo == nil {
			undo, err = e.PlanDrain(t.Context(), order)
		}
		if err == nil {
			p, err = e.Drain(t.Context(), order, undo)
		}
		if err != nil || p.Detail != "" {
			t.Logf("%s: %v %s: %v", order.Claim, p.State, p.Detail, err)
		}
		return p.State == engines.ProgressDone
	}, 3*time.Minute, 100*time.Millisecond)
	return undo
}

// backwards counts how often leaders show fewer documents than they have shown before.
type backwards struct {
	reads, times, most int
	longest            time.Duration
}

func (b *backwards) String() string {
	return fmt.Sprintf("%d of %d reads went back, by %d documents at most, for %s at most", b.times, b.reads, b.most, b.longest.Round(time.Millisecond))
}

func (b *backwards) watch(ctx context.Context, c *solrtest.Cluster, collection string, away *atomic.Int64) {
	highest, since := 0, time.Time{}
	q := url.Values{"q": {"*:*"}, "rows": {"0"}, "wt": {"json"}, "shards.tolerant": {"false"}, "shards.preference": {"replica.leader:true"}}
	for ctx.Err() == nil {
		i := slices.IndexFunc([]int64{0, 1, 2}, func(i int64) bool { return i != away.Load() })
		body, status, err := c.Nodes[i].Try(http.MethodGet, "/solr/"+collection+"/select", q)
		var answer struct {
			Response struct {
				Found int `json:"numFound"`
			} `json:"response"`
		}
		if err == nil && status == http.StatusOK && json.Unmarshal(body, &answer) == nil {
			b.reads++
			if found := answer.Response.Found; found >= highest {
				if !since.IsZero() {
					b.longest = max(b.longest, time.Since(since))
				}
				highest, since = found, time.Time{}
			} else {
				b.times++
				b.most = max(b.most, highest-found)
				if since.IsZero() {
					since = time.Now()
				}
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}
