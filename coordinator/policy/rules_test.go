package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryRuleHasScripts: each rule has a script in which it is the reason,
// one in which it just does not hold, and one in which it is overridden, or
// refuses to be.
func TestEveryRuleHasScripts(t *testing.T) {
	scripts := goldenSnapshots(t)
	for _, rule := range Rules() {
		base := "rule_" + strings.ReplaceAll(string(rule), "-", "_")
		for _, suffix := range []string{"_holds", "_passes", "_overridden"} {
			require.Contains(t, scripts, base+suffix)
		}
		held := false
		for _, h := range Decide(scripts[base+"_holds"]).Holds {
			held = held || h.Rule == rule && h.Pod != ""
		}
		require.True(t, held, "%s_holds has no pod that %s holds", base, rule)
		for _, h := range Decide(scripts[base+"_passes"]).Holds {
			require.False(t, h.Rule == rule && rule != FleetFull && rule != PodsAway, "%s_passes holds %s", base, h.Pod)
		}

		over := scripts[base+"_overridden"]
		plan := Decide(over)
		if cannotBeOverridden[rule] {
			require.Empty(t, plan.Steps)
			continue
		}
		note := false
		for _, s := range plan.Steps {
			note = note || strings.Contains(strings.Join(s.Notes, "\n"), "override of "+string(rule)+" until")
		}
		if rule == OutsideWindow || rule == Paused {
			continue // what the window or the pause held is held by the budget next
		}
		require.True(t, note, "%s_overridden has no step that notes the override", base)
	}
}

// TestEverySeedSentenceHasAScript guards against scripts being lost.
func TestEverySeedSentenceHasAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/solr_seed_*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 37)
}

// TestHoldsSayWhatAndWhatEndsThem: every hold has a known rule, a reason and
// what unblocks it; every pod of the order has a step or a hold, and no pod both.
func TestHoldsSayWhatAndWhatEndsThem(t *testing.T) {
	known := map[Rule]bool{}
	for _, r := range Rules() {
		require.False(t, known[r], "%s is listed twice", r)
		known[r] = true
	}
	for name, s := range goldenSnapshots(t) {
		t.Run(name, func(t *testing.T) {
			requireSound(t, s, Decide(s))
		})
	}
}

func requireSound(t testing.TB, s Snapshot, p Plan) {
	t.Helper()
	seen := map[string]int{}
	for _, step := range p.Steps {
		if step.Action != Restore {
			seen[step.Pod]++
		}
	}
	cluster := true
	for _, h := range p.Holds {
		require.NotEmpty(t, h.Rule)
		require.NotEmpty(t, h.Reason)
		require.NotEmpty(t, h.Unblocks)
		if h.Pod == "" {
			require.True(t, cluster, "holds of the whole cluster come first")
			continue
		}
		cluster = false
		seen[h.Pod]++
	}
	require.Len(t, p.Order, len(seen))
	for _, pod := range p.Order {
		require.Equal(t, 1, seen[pod], "%s", pod)
	}
	require.GreaterOrEqual(t, p.RetryAfterSeconds, int64(0))
	require.NotEmpty(t, p.Phase)
	require.GreaterOrEqual(t, p.Forecast.Seconds, p.Forecast.BoundSeconds)
}

func TestExplainTellsAllThatHolds(t *testing.T) {
	s := goldenSnapshots(t)["rule_leader_last_holds"]
	s.Pods[0].Report.Busy = "backup"
	s.Cluster.Paused = true
	rules := []Rule{}
	for _, h := range Explain(s, s.Pods[0].Name) {
		require.Equal(t, s.Pods[0].Name, h.Pod)
		rules = append(rules, h.Rule)
	}
	require.Equal(t, []Rule{Paused, Busy, LeaderLast}, rules)
	require.Empty(t, Explain(s, "nobody"))
}
