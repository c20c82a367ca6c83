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
	require.Equal(t, engines.Progress{State: engines.Done}, last)
	undoAll(t, e, undo)
	require.Empty(t, c.leftovers())

	for _, index := range []string{"kept", "no", "other"} {
		c.add(index+"/0", 0, 1, 2)
		_, last = do(t, e, order)
		require.Equal(t, engines.Progress{State: engines.Refused, Detail: "no other node could take a copy of " + index + "/0"}, last)
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
