package solr

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/test/e2e/load"
)

func realEngine(t *testing.T, n *solrtest.Node) *Engine {
	return mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port}})
}

// await observes until it is as wanted, and returns the last observation.
func await(t *testing.T, e *Engine, why string, want func(engines.Observation) bool) engines.Observation {
	t.Helper()
	var o engines.Observation
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var err error
		o, err = e.Observe(t.Context())
		if err == nil && want(o) {
			return o
		}
		require.True(t, time.Now().Before(deadline), "%s: %+v %v", why, o, err)
	}
}

func whole(o engines.Observation) bool {
	return o.Settled && o.Health.Verdict == engines.VerdictGreen
}

func prepare(t *testing.T, e *Engine, order engines.Order) (undo []byte, detail string) {
	t.Helper()
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		p, err := e.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		if p.State == engines.ProgressDone {
			return undo, p.Detail
		}
		require.Equal(t, engines.ProgressRunning, p.State, p.Detail)
		require.True(t, time.Now().Before(deadline), p.Detail)
	}
}

func restoreAll(t *testing.T, e *Engine, undo []byte) {
	t.Helper()
	require.Eventually(t, func() bool {
		p, err := e.Restore(t.Context(), undo)
		return err == nil && p.State == engines.ProgressDone
	}, 2*time.Minute, 100*time.Millisecond)
}

func stateOf(o engines.Observation, node string) engines.Membership {
	for _, n := range o.Nodes {
		if n.Name == node {
			return n.State
		}
	}
	return engines.MembershipUnknown
}

// TestRealRestarts restarts each node of a cluster under load, with its leaders
// handed over first: no request fails. Then without warning, and what is seen.
func TestRealRestarts(t *testing.T) {
	c := solrtest.Start(t, solrtest.Options{Versions: []string{"9.10.1", "9.10.1", "9.10.1"}, SessionTimeout: 6 * time.Second})
	first := c.Nodes[0]
	first.Create("books", "numShards", "2", "nrtReplicas", "3")
	first.Create("pages", "numShards", "2", "tlogReplicas", "2", "pullReplicas", "1")
	first.Create("lonely", "numShards", "1", "nrtReplicas", "1", "createNodeSet", c.Nodes[1].Name)

	t.Run("handed over, nothing fails", func(t *testing.T) {
		var away atomic.Int64
		away.Store(-1)
		client, err := load.New(load.Options{Collections: []string{"books", "pages"}, Targets: func() []string {
			var urls []string
			for i, n := range c.Nodes {
				if int64(i) != away.Load() {
					urls = append(urls, n.URL())
				}
			}
			return urls
		}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan load.Stats)
		go func() { ended <- client.Run(ctx) }()
		for i, n := range c.Nodes {
			e := realEngine(t, n)
			await(t, e, "before", whole)
			start := time.Now()
			undo, detail := prepare(t, e, engines.Order{Kind: engines.Handoff, Claim: "restart-" + n.Name[10:15]})
			t.Logf("node %d: handed over in %s %s", i, time.Since(start).Round(time.Millisecond), detail)
			if i == 1 {
				require.Contains(t, detail, "lonely/shard1")
			}
			o, err := e.Observe(t.Context())
			require.NoError(t, err)
			for _, g := range o.Groups {
				require.True(t, g.ID == "lonely/shard1" || !slices.ContainsFunc(g.Members, func(m engines.Member) bool { return m.Leader && m.Node == n.Name }), g.ID)
			}
			away.Store(int64(i)) // as when the pod leaves the Service
			time.Sleep(200 * time.Millisecond)
			n.Stop()
			other := realEngine(t, c.Nodes[(i+1)%3])
			o = await(t, other, "stopped", func(o engines.Observation) bool { return stateOf(o, n.Name) == engines.MembershipNotLive })
			want := engines.VerdictRecoverable
			if i == 1 {
				want = engines.VerdictRed // the only copy of lonely is unavailable
			}
			require.Equal(t, want, o.Health.Verdict, o.Health.Reason)
			for _, g := range o.Groups {
				for _, m := range g.Members {
					if m.Node == n.Name {
						require.Equal(t, engines.MemberDown, m.State)
						require.False(t, m.Leader)
					}
				}
			}
			gone, err := e.Observe(t.Context())
			require.NoError(t, err)
			require.Equal(t, engines.MembershipNotLive, gone.Member)
			n.Start()
			await(t, e, "back", whole)
			away.Store(-1)
			restoreAll(t, e, undo)
		}
		cancel()
		stats := <-ended
		t.Logf("%+v", stats)
		require.Zero(t, stats.Failed)
		require.Empty(t, leftProperties(c))
	})

	if t.Failed() {
		return // the cluster is not as the rest expects it
	}
	t.Run("killed", func(t *testing.T) {
		watcher := realEngine(t, first)
		before := await(t, watcher, "before", whole)
		victim := c.Nodes[1]
		start := time.Now()
		victim.Kill()
		o := await(t, watcher, "noticed", func(o engines.Observation) bool { return stateOf(o, victim.Name) == engines.MembershipNotLive })
		t.Logf("noticed after %s: %+v", time.Since(start).Round(time.Millisecond), o.Health)
		require.NotEqual(t, engines.VerdictGreen, o.Health.Verdict)
		require.Equal(t, engines.MembershipLive, o.Member)
		victim.Start()
		o = await(t, watcher, "back", whole)
		require.Len(t, o.Groups, len(before.Groups))
	})

	t.Run("overseer moves", func(t *testing.T) {
		watcher := realEngine(t, first)
		o := await(t, watcher, "before", whole)
		overseer := overseerOf(t, c)
		require.Equal(t, overseer == first, o.Last)
		overseer.Kill()
		overseer.Start()
		for _, n := range c.Nodes {
			await(t, realEngine(t, n), "back", whole)
		}
		last := 0
		for _, n := range c.Nodes {
			if o := await(t, realEngine(t, n), "again", whole); o.Last {
				require.Equal(t, []string{"overseer"}, o.Roles)
				last++
			}
		}
		require.Equal(t, 1, last)
	})

	t.Run("zookeeper is gone", func(t *testing.T) {
		watcher := realEngine(t, first)
		await(t, watcher, "before", whole)
		resume := c.PauseZooKeeper()
		o := await(t, watcher, "unknown", func(o engines.Observation) bool { return o.Member != engines.MembershipLive })
		t.Logf("%s %+v", o.Member, o.Health)
		require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
		require.False(t, o.Settled)
		resume()
		await(t, watcher, "back", whole)
	})
}

func overseerOf(t *testing.T, c *solrtest.Cluster) *solrtest.Node {
	answer, err := decodeOverseer(c.Nodes[0].Collections("OVERSEERSTATUS"))
	require.NoError(t, err)
	for _, n := range c.Nodes {
		if n.Name == answer.node {
			return n
		}
	}
	t.Fatalf("overseer %q is none of the nodes", answer.node)
	return nil
}

func leftProperties(c *solrtest.Cluster) []string {
	var out []string
	for col, shards := range c.Nodes[0].State() {
		for s, replicas := range shards {
			for name, r := range replicas {
				if r["property.rollcall"] != nil || r["property.preferredleader"] != nil {
					out = append(out, col+"/"+s+"/"+name)
				}
			}
		}
	}
	return out
}
