package solr

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

func handoffOrder() engines.Order { return engines.Order{Kind: engines.Handoff, Claim: "claim-1"} }

func begin(t *testing.T, e *Engine, order engines.Order) []byte {
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	return undo
}

// REBALANCELEADERS may say success and do nothing; the cluster's state decides.
func TestHandoffRepeatsUntilTheStateSaysSo(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	c.deafRebalances = 2
	e := mustNew(t, testOptions(c.options(0)))
	undo := begin(t, e, handoffOrder())
	for range 2 {
		p, err := e.Drain(t.Context(), handoffOrder(), undo)
		require.NoError(t, err)
		require.Equal(t, engines.Progress{State: engines.ProgressRunning, Detail: "still leads books/shard1", Total: 1}, p)
	}
	p, err := e.Drain(t.Context(), handoffOrder(), undo)
	require.NoError(t, err)
	require.Equal(t, engines.Progress{State: engines.ProgressDone}, p)
	require.Equal(t, 2, count(c, pathCollections+" ADDREPLICAPROP"), "written once: the mark and the preference")
	require.Equal(t, 1, count(c, "/solr/books/update "), "committed once per claim")
}

func TestHandoffNamesWhatStays(t *testing.T) {
	c := newFakeCluster(t, 3)
	for _, s := range []string{"shard1", "shard2", "shard3", "shard4"} {
		c.add("single", s, "n", 0)
	}
	c.add("pulled", "shard1", "tp", 0, 1)
	e := mustNew(t, testOptions(c.options(0)))
	p, err := e.Drain(t.Context(), handoffOrder(), begin(t, e, handoffOrder()))
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State)
	require.Equal(t, "pulled/shard1, single/shard1, single/shard2 and 2 more stay: no other active copy can lead", p.Detail)
	require.Empty(t, c.leftovers())
}

func TestHandoffSurvivesAFailedCommit(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	served := c.servers[0].Handler
	c.servers[0].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/update") {
			writeFailure(w, 403, "Unauthorized request")
			return
		}
		served.ServeHTTP(w, r)
	})
	e := mustNew(t, testOptions(c.options(0)))
	p, err := e.Drain(t.Context(), handoffOrder(), begin(t, e, handoffOrder()))
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State)
	require.Equal(t, "commit failed: /solr/books/update: solr answered 403 Forbidden: Unauthorized request; the user in the Secret of spec.connection.credentialsSecret lacks the permission update", p.Detail)
}

// The coordinator asks with each of its looks whether the handoff still stands, and
// waits for the answer for a few seconds only.
func TestSlowCommitIsPaidForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(t, 3)
		c.add("books", "shard1", "nn", 0, 1)
		served := c.servers[0].Handler
		c.servers[0].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/update") {
				<-r.Context().Done()
				return
			}
			served.ServeHTTP(w, r)
		})
		e := mustNew(t, testOptions(c.options(0)))
		undo := begin(t, e, handoffOrder())
		for _, most := range []time.Duration{commitTime, 0, 0} {
			asked := time.Now()
			p, err := e.Drain(t.Context(), handoffOrder(), undo)
			require.NoError(t, err)
			require.Equal(t, engines.ProgressDone, p.State)
			require.Contains(t, p.Detail, "commit failed", "it is said as long as the claim lasts")
			require.LessOrEqual(t, time.Since(asked), most+time.Second)
		}
	})
}

// Before a copy of type TLOG takes over, the second commit is there while the first one is made.
func TestTwoCommitsForATLOGCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(t, 3)
		c.add("books", "shard1", "tt", 0, 1)
		var here sync.WaitGroup
		here.Add(2)
		served := c.servers[0].Handler
		c.servers[0].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/update") {
				here.Done()
				here.Wait()
			}
			served.ServeHTTP(w, r)
		})
		e := mustNew(t, testOptions(c.options(0)))
		p, err := e.Drain(t.Context(), handoffOrder(), begin(t, e, handoffOrder()))
		require.NoError(t, err)
		require.Equal(t, engines.Progress{State: engines.ProgressDone}, p)
		require.Equal(t, 2, count(c, "/solr/books/update "))
	})
}

func TestHandoffWithoutPermission(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	served := c.servers[0].Handler
	c.servers[0].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if manners.Changes(r) {
			writeFailure(w, 403, "Unauthorized request")
			return
		}
		served.ServeHTTP(w, r)
	})
	e := mustNew(t, testOptions(c.options(0)))
	_, err := e.Drain(t.Context(), handoffOrder(), begin(t, e, handoffOrder()))
	require.ErrorContains(t, err, "mark books/shard1/core_node2: /solr/admin/collections ADDREPLICAPROP: solr answered 403 Forbidden: Unauthorized request; the user in the Secret of spec.connection.credentialsSecret lacks the permission collection-admin-edit")
	require.True(t, denied(err))
}

func TestNoWriteIsStartedTooLate(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	e := mustNew(t, testOptions(c.options(0)))
	for _, kind := range []engines.Kind{engines.Handoff, engines.Evacuate} {
		order := engines.Order{Kind: kind, Claim: "late", NotAfter: time.Now().Add(-time.Minute)}
		_, err := e.Drain(t.Context(), order, begin(t, e, order))
		require.ErrorIs(t, err, engines.ErrTooLate)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for call := range c.requests {
		for _, change := range []string{"PROP", "REBALANCE", "REPLACE", "DELETE", "update"} {
			require.NotContains(t, call, change)
		}
	}
}

// Another node is handed over by its name; a name that is not there is no success.
func TestHandoffOfAnotherNode(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	e := mustNew(t, testOptions(c.options(2)))
	order := engines.Order{Kind: engines.Handoff, Claim: "claim-1", Node: "db-7.solr:8983_solr"}
	p, err := e.Drain(t.Context(), order, begin(t, e, order))
	require.NoError(t, err)
	require.Equal(t, engines.Progress{State: engines.ProgressRefused, Detail: `no node "db-7.solr:8983_solr" in this cluster`}, p)
	order.Node = c.nodes[0]
	p, err = e.Drain(t.Context(), order, begin(t, e, order))
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State, p.Detail)
	require.Zero(t, c.count(func(r *fakeReplica) bool { return r.leader && r.node == c.nodes[0] }))
}

// A handoff of the node that took over, before the first one is restored, gives
// back what was there before both.
func TestHandoffsInARowKeepTheFirstPreference(t *testing.T) {
	for name, firstUndone := range map[string]int{"first restored first": 0, "second restored first": 1} {
		t.Run(name, func(t *testing.T) {
			c := newFakeCluster(t, 3)
			c.add("books", "shard1", "nnn", 0, 1, 2)
			preferred := func() string {
				name := ""
				c.mu.Lock()
				defer c.mu.Unlock()
				c.flush()
				c.each(func(_, _, replica string, r *fakeReplica) {
					if r.properties["property.preferredleader"] == "true" {
						name += replica
					}
				})
				return name
			}
			c.shards["books"]["shard1"]["core_node1"].properties["property.preferredleader"] = "true"
			var undos [][]byte
			var all []*Engine
			for i := range 2 {
				e := mustNew(t, testOptions(c.options(i)))
				order := engines.Order{Kind: engines.Handoff, Claim: "claim-" + string(rune('a'+i)), Eligible: []string{c.nodes[i+1]}}
				undo := begin(t, e, order)
				p, err := e.Drain(t.Context(), order, undo)
				require.NoError(t, err)
				require.Equal(t, engines.ProgressDone, p.State, p.Detail)
				undos, all = append(undos, undo), append(all, e)
			}
			require.Equal(t, "core_node3", preferred())
			for _, i := range []int{firstUndone, 1 - firstUndone} {
				p, err := all[i].Restore(t.Context(), undos[i])
				require.NoError(t, err)
				require.Equal(t, engines.ProgressDone, p.State)
			}
			require.Equal(t, "core_node1", preferred())
			require.Len(t, c.leftovers(), 1)
		})
	}
}

func evacuateOrder() engines.Order { return engines.Order{Kind: engines.Evacuate, Claim: "claim-1"} }

func TestEvacuateASingleNodeIsRefused(t *testing.T) {
	c := newFakeCluster(t, 2)
	c.add("books", "shard1", "n", 0)
	c.live[c.nodes[1]] = false
	e := mustNew(t, testOptions(c.options(0)))
	p, err := e.Drain(t.Context(), evacuateOrder(), begin(t, e, evacuateOrder()))
	require.NoError(t, err)
	require.Equal(t, engines.Progress{State: engines.ProgressRefused, Detail: "no other live node can take the 1 replicas of db-0.solr:8983_solr"}, p)
}

func TestEvacuateRetriesAFailedMove(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	c.failTasks = 1
	e := mustNew(t, testOptions(c.options(0)))
	undo := begin(t, e, evacuateOrder())
	var details []string
	for p := (engines.Progress{}); p.State != engines.ProgressDone; {
		var err error
		p, err = e.Drain(t.Context(), evacuateOrder(), undo)
		require.NoError(t, err)
		details = append(details, p.Detail)
	}
	require.Contains(t, strings.Join(details, "\n"), "1 replicas are still on the node, trying again")
	require.Equal(t, 2, count(c, pathCollections+" REPLACENODE"))
	restoreToEnd(t, e, undo)
	require.Empty(t, c.leftovers(), "its task is forgotten, and its marks are gone")
}

// Inactive shards and replicas on their way to the node count too: it is about to
// lose its data.
func TestEvacuateCountsEveryReplica(t *testing.T) {
	c := stateWith([]string{"a"}, shardOf("s", "inactive", on("a", "down")), shardOf("t", "active", on("a", "recovering"), on("b", "active")))
	require.Equal(t, 2, c.hosted("a"))
}

func restoreToEnd(t *testing.T, e *Engine, undo []byte) engines.Progress {
	for {
		p, err := e.Restore(t.Context(), undo)
		require.NoError(t, err)
		if p.State == engines.ProgressDone {
			return p
		}
	}
}

func TestBalance(t *testing.T) {
	for version, balances := range map[string]int{"9.2.1": 0, "8.11.4": 0, "9.3.0": 1, "9.10.0": 1, "10.0.0": 1} {
		c := newFakeCluster(t, 3)
		c.version = version
		e := mustNew(t, testOptions(c.options(0)))
		undo := begin(t, e, evacuateOrder())
		p := restoreToEnd(t, e, undo)
		restoreToEnd(t, e, undo)
		require.Equal(t, balances, count(c, pathBalance+" "), "once per claim")
		if balances == 0 {
			require.Equal(t, "not balanced: Solr "+version+" cannot, 9.3 and later can", p.Detail)
		}
		require.Empty(t, c.leftovers())
	}
}

func TestRestoreOfAHandoffDoesNotBalance(t *testing.T) {
	c := newFakeCluster(t, 3)
	e := mustNew(t, testOptions(c.options(0)))
	restoreToEnd(t, e, begin(t, e, handoffOrder()))
	require.Zero(t, count(c, pathBalance+" "))
}

func TestUndoOfAnotherKindIsRefused(t *testing.T) {
	c := newFakeCluster(t, 3)
	e := mustNew(t, testOptions(c.options(0)))
	_, err := e.Drain(t.Context(), handoffOrder(), begin(t, e, evacuateOrder()))
	require.ErrorIs(t, err, engines.ErrUndo)
	require.ErrorContains(t, err, "planned for Evacuate, applied for Handoff")
}

// Collections are worked on at once, but not more than Options.Parallel.
func TestParallelIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustNew(t, Options{Parallel: 3})
		names := slices.Repeat([]string{"x"}, 20)
		running, most := make(chan struct{}, 20), 0
		gate := make(chan struct{}, 1)
		require.NoError(t, e.each(names, func(string) error {
			running <- struct{}{}
			gate <- struct{}{}
			most = max(most, len(running))
			<-gate
			time.Sleep(time.Millisecond)
			<-running
			return nil
		}))
		require.Equal(t, 3, most)
	})
}

func TestClosedEngineSaysSo(t *testing.T) {
	e, err := New(Options{})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	_, err = e.PlanDrain(context.Background(), handoffOrder())
	require.ErrorIs(t, err, web.ErrClosed)
	o, err := e.Observe(context.Background())
	require.NoError(t, err)
	require.Equal(t, engines.MembershipUnknown, o.Member)
}
