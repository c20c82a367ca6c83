package solr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// shardOf builds a shard of collection "c" from lines "node state type flags".
func shardOf(name, state string, replicas ...replica) collection {
	for i := range replicas {
		if replicas[i].name == "" {
			replicas[i].name = "r" + string(rune('1'+i))
		}
	}
	return collection{name: "c", shards: []shard{{name: name, state: state, replicas: replicas}}}
}

func on(node, state string) replica { return replica{node: node, state: state, kind: "NRT"} }

func leading(node string) replica {
	return replica{node: node, state: "active", kind: "NRT", leader: true}
}

func stateWith(live []string, collections ...collection) *clusterState {
	return &clusterState{live: live, collections: collections}
}

func TestVerdict(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		state  *clusterState
		want   engines.Verdict
		reason string
	}{
		"nothing there":             {stateWith(abc), engines.Green, ""},
		"all active":                {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "active"))), engines.Green, ""},
		"node unavailable":          {stateWith([]string{"a"}, shardOf("s", "active", leading("a"), on("b", "down"))), engines.Recoverable, "missing or recovering: c/s/r2"},
		"dead says active":          {stateWith([]string{"a"}, shardOf("s", "active", leading("a"), on("b", "active"))), engines.Recoverable, "missing or recovering: c/s/r2"},
		"recovering":                {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "recovering"))), engines.Recoverable, "missing or recovering: c/s/r2"},
		"down on live node":         {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "down"))), engines.Recoverable, "down on a live node, which a restart may mend if it lasts: c/s/r2"},
		"recovery failed":           {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "recovery_failed"), on("c", "recovery_failed"))), engines.Recoverable, "down on a live node, which a restart may mend if it lasts: c/s/r2 and 1 more"},
		"down, and one unavailable": {stateWith([]string{"a", "b"}, shardOf("s", "active", leading("a"), on("b", "down"), on("c", "active"))), engines.Recoverable, "down on a live node, which a restart may mend if it lasts: c/s/r2"},
		"down, no leader":           {stateWith(abc, shardOf("s", "active", on("a", "active"), on("b", "down"))), engines.Yellow, "no leader of c/s"},
		"all are down":              {stateWith(abc, shardOf("s", "active", on("a", "down"), on("b", "recovery_failed"))), engines.Red, "no active copy of c/s"},
		"no leader":                 {stateWith(abc, shardOf("s", "active", on("a", "active"), on("b", "active"))), engines.Yellow, "no leader of c/s"},
		"leader is dead":            {stateWith([]string{"b"}, shardOf("s", "active", leading("a"), on("b", "active"))), engines.Yellow, "no leader of c/s"},
		"no active copy":            {stateWith([]string{"b"}, shardOf("s", "active", leading("a"), on("b", "recovering"))), engines.Red, "no active copy of c/s"},
		"no copy at all":            {stateWith(abc, shardOf("s", "active")), engines.Red, "no active copy of c/s"},
		"unknown state":             {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "dreaming"))), engines.VerdictUnknown, "unknown state of c/s/r2"},
		"unknown shard":             {stateWith(abc, shardOf("s", "dreaming", leading("a"))), engines.Red, "no active copy of c/s"},
		"split parent":              {stateWith(abc, shardOf("s", "inactive", on("a", "down"))), engines.Green, ""},
		"failed split":              {stateWith(abc, shardOf("s", "recovery_failed", on("a", "down"))), engines.Green, ""},
		"split under way":           {stateWith(abc, shardOf("s", "construction", on("a", "active"))), engines.Green, ""},
		"split, recovering":         {stateWith(abc, shardOf("s", "recovery", on("a", "recovering"))), engines.Recoverable, "missing or recovering: c/s/r1"},
		"unknown beats unavailable": {stateWith([]string{"a", "b"}, shardOf("s", "active", leading("a"), on("b", "x"), on("c", "active"))), engines.VerdictUnknown, "unknown state of c/s/r2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdict(c.state.groups(), c.state.isLive)
			require.Equal(t, c.want, got.Verdict, got.Reason)
			require.Equal(t, c.reason, got.Reason)
		})
	}
}

func TestGroups(t *testing.T) {
	c := stateWith([]string{"h:1_solr"},
		shardOf("s", "active", leading("h:1_solr"), replica{node: "h:1_solr", state: "active", kind: "PULL"},
			replica{node: "h:1_solr", state: "recovering", kind: "TLOG"}, replica{node: "gone:1_solr", state: "active", baseURL: "https://gone.example:8983/solr", leader: true}),
		shardOf("t", "construction", on("h:1_solr", "active")),
		shardOf("u", "inactive", on("h:1_solr", "active")))
	require.Equal(t, []engines.Group{
		{ID: "c/s", Kind: engines.Shard, NeedsLeader: true, Members: []engines.Member{
			{ID: "r1", Node: "h:1_solr", State: engines.Active, Leader: true, Eligible: true},
			{ID: "r2", Node: "h:1_solr", State: engines.Active},
			{ID: "r3", Node: "h:1_solr", State: engines.Recovering, Eligible: true},
			{ID: "r4", Node: "gone:1_solr", State: engines.Down, Eligible: true}, // old data has no type
		}},
		{ID: "c/t", Kind: engines.Shard, Moving: true, Members: []engines.Member{{ID: "r1", Node: "h:1_solr", State: engines.Active, Eligible: true}}},
	}, c.groups())
	require.Equal(t, []engines.Node{
		{Name: "gone:1_solr", Address: "gone.example:8983", State: engines.NotLive},
		{Name: "h:1_solr", Address: "h:1", State: engines.Live},
	}, c.nodes())
}
