package opensearch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// An index that has a copy on every node, as those of the security plugin, gives one
// up for a node that is excluded; but not below what it keeps.
func TestEvacuateWhatExpandsToAllNodes(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.add("everywhere/0", 0, 1, 2)
	c.locked(func() { c.expand = map[string]string{"everywhere": "0-all", "kept": "2-all", "no": "false"} })
	e := mustNew(t, testOptions(c.options(1)))
	order := engines.Order{Kind: engines.Evacuate, Claim: "c1"}
	undo, last := do(t, e, order)
	require.Equal(t, engines.Progress{State: engines.ProgressDone}, last)
	undoAll(t, e, undo)
	require.Empty(t, c.leftovers())

	for _, index := range []string{"kept", "no", "other"} {
		c.add(index+"/0", 0, 1, 2)
		_, last = do(t, e, order)
		require.Equal(t, engines.Progress{State: engines.ProgressRefused, Detail: "no other node could take a copy of " + index + "/0"}, last)
		require.Empty(t, c.leftovers())
		c.locked(func() { delete(c.shards, index+"/0") })
	}
}

func TestDecodeAutoExpanding(t *testing.T) {
	got, err := decodeAutoExpanding(strings.NewReader(`{"a":{"settings":{"index.auto_expand_replicas":"0-all"}},"b":{"settings":{"index.auto_expand_replicas":"1-3"}},
		"c":{"settings":{"index.auto_expand_replicas":"false"}},"d":{"settings":{"index.auto_expand_replicas":"x-y"}},"e":{}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 0, "b": 1}, got)
	for _, text := range []string{"", "[]", `{"a":1}`, `{"error":"x"}`} {
		_, err := decodeAutoExpanding(strings.NewReader(text))
		require.Error(t, err, text)
	}
}

// A shard of which no copy serves may have its data on the disk of the very node that is
// to be given up, which names no copy then.
func TestEvacuateWaitsForWhatNobodyServes(t *testing.T) {
	for name, c := range map[string]struct {
		copies []*fakeCopy
		waits  bool
	}{
		"the only copy is nowhere":     {[]*fakeCopy{{primary: true, state: "UNASSIGNED", info: "NODE_LEFT"}}, true},
		"after all were restarted":     {[]*fakeCopy{{primary: true, state: "UNASSIGNED", info: "CLUSTER_RECOVERED"}, {state: "UNASSIGNED", info: "CLUSTER_RECOVERED"}}, true},
		"it could not be opened":       {[]*fakeCopy{{primary: true, state: "UNASSIGNED", info: "ALLOCATION_FAILED"}}, true},
		"it is being opened elsewhere": {[]*fakeCopy{{primary: true, state: "INITIALIZING", node: "id-2"}}, true},
		"nobody ever had it":           {[]*fakeCopy{{primary: true, state: "UNASSIGNED", info: "INDEX_CREATED"}}, false},
		"another copy serves":          {[]*fakeCopy{{primary: true, state: "STARTED", node: "id-2"}, {state: "UNASSIGNED", info: "NODE_LEFT"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newFakeCluster(t, 3, "data", "cluster_manager")
			cluster.locked(func() { cluster.shards["lost/0"] = c.copies })
			order := engines.Order{Kind: engines.Evacuate, Claim: "c1"}
			e := mustNew(t, testOptions(cluster.options(1)))
			if c.waits {
				undo, err := e.PlanDrain(t.Context(), order)
				require.NoError(t, err)
				for range 5 {
					p, err := e.Drain(t.Context(), order, undo)
					require.NoError(t, err)
					require.Equal(t, engines.ProgressRunning, p.State)
				}
				p, err := e.Drain(t.Context(), order, undo)
				require.NoError(t, err)
				require.Equal(t, "what is to be kept may be on the disk of this node alone; no copy serves of lost/0", p.Detail)
				require.NotContains(t, cluster.excludedNames(), "db-1", "it is not kept from where it may be")
				cluster.locked(func() { cluster.shards["lost/0"] = []*fakeCopy{{primary: true, state: "STARTED", node: "id-1"}} })
			}
			_, last := do(t, e, order)
			require.Equal(t, engines.ProgressDone, last.State, last.Detail)
			require.Zero(t, func() (n int) {
				cluster.locked(func() {
					for _, copies := range cluster.shards {
						for _, copy := range copies {
							n += count(copy.node == "id-1")
						}
					}
				})
				return n
			}())
		})
	}
	// A node that holds no data has none of it.
	r := cluster("m 2.19.4 cluster_manager", "d 2.19.4 data").with("x/0", "p - NODE_LEFT")
	require.Empty(t, r.unserved("m"))
	require.Len(t, r.unserved("d"), 1)
	require.Len(t, r.unserved("unknown"), 1)
}
