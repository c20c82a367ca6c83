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
		"nothing there":             {stateWith(abc), engines.VerdictGreen, ""},
		"all active":                {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "active"))), engines.VerdictGreen, ""},
		"node unavailable":          {stateWith([]string{"a"}, shardOf("s", "active", leading("a"), on("b", "down"))), engines.VerdictRecoverable, "missing or recovering: c/s/r2"},
		"dead says active":          {stateWith([]string{"a"}, shardOf("s", "active", leading("a"), on("b", "active"))), engines.VerdictRecoverable, "missing or recovering: c/s/r2"},
		"recovering":                {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "recovering"))), engines.VerdictRecoverable, "missing or recovering: c/s/r2"},
		"down on live node":         {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "down"))), engines.VerdictRecoverable, "down on a live node, which a restart may mend if it lasts: c/s/r2"},
		"recovery failed":           {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "recovery_failed"), on("c", "recovery_failed"))), engines.VerdictRecoverable, "down on a live node, which a restart may mend if it lasts: c/s/r2 and 1 more"},
		"down, and one unavailable": {stateWith([]string{"a", "b"}, shardOf("s", "active", leading("a"), on("b", "down"), on("c", "active"))), engines.VerdictRecoverable, "down on a live node, which a restart may mend if it lasts: c/s/r2"},
		"down, no leader":           {stateWith(abc, shardOf("s", "active", on("a", "active"), on("b", "down"))), engines.VerdictYellow, "no leader of c/s"},
		"all are down":              {stateWith(abc, shardOf("s", "active", on("a", "down"), on("b", "recovery_failed"))), engines.VerdictRed, "no active copy of c/s"},
		"no leader":                 {stateWith(abc, shardOf("s", "active", on("a", "active"), on("b", "active"))), engines.VerdictYellow, "no leader of c/s"},
		"leader is dead":            {stateWith([]string{"b"}, shardOf("s", "active", leading("a"), on("b", "active"))), engines.VerdictYellow, "no leader of c/s"},
		"no active copy":            {stateWith([]string{"b"}, shardOf("s", "active", leading("a"), on("b", "recovering"))), engines.VerdictRed, "no active copy of c/s"},
		"no copy at all":            {stateWith(abc, shardOf("s", "active")), engines.VerdictRed, "no active copy of c/s"},
		"unknown state":             {stateWith(abc, shardOf("s", "active", leading("a"), on("b", "dreaming"))), engines.VerdictUnknown, "unknown state of c/s/r2"},
		"unknown shard":             {stateWith(abc, shardOf("s", "dreaming", leading("a"))), engines.VerdictRed, "no active copy of c/s"},
		"split parent":              {stateWith(abc, shardOf("s", "inactive", on("a", "down"))), engines.VerdictGreen, ""},
		"failed split":              {stateWith(abc, shardOf("s", "recovery_failed", on("a", "down"))), engines.VerdictGreen, ""},
		"split under way":           {stateWith(abc, shardOf("s", "construction", on("a", "active"))), engines.VerdictGreen, ""},
		"split, recovering":         {stateWith(abc, shardOf("s", "recovery", on("a", "recovering"))), engines.VerdictRecoverable, "missing or recovering: c/s/r1"},
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
		{ID: "c/s", Kind: engines.GroupShard, NeedsLeader: true, Members: []engines.Member{
			{ID: "r1", Node: "h:1_solr", State: engines.MemberActive, Leader: true, Eligible: true},
			{ID: "r2", Node: "h:1_solr", State: engines.MemberActive},
			{ID: "r3", Node: "h:1_solr", State: engines.MemberRecovering, Eligible: true},
			{ID: "r4", Node: "gone:1_solr", State: engines.MemberDown, Eligible: true}, // old data has no type
		}},
		{ID: "c/t", Kind: engines.GroupShard, Moving: true, Members: []engines.Member{{ID: "r1", Node: "h:1_solr", State: engines.MemberActive, Eligible: true}}},
	}, c.groups())
	require.Equal(t, []engines.Node{
		{Name: "gone:1_solr", Address: "gone.example:8983", State: engines.MembershipNotLive},
		{Name: "h:1_solr", Address: "h:1", State: engines.MembershipLive},
	}, c.nodes())
}
