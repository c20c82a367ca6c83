package model

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A snapshot with former names is the same as one with the current ones.
func TestFormerNamesAreRead(t *testing.T) {
	const current = `{"version": 1, "now": "2026-11-20T12:00:00Z", "cluster": {"namespace": "prod", "name": "search",
		"spec": {"engine": "Solr", "overrides": [{"rule": "rollout-halted", "pods": ["*"], "reason": "r", "expires": "2026-11-21T12:00:00Z"},
			{"rule": "failure-detection", "pods": ["*"], "reason": "r", "expires": "2026-11-21T12:00:00Z"}]},
		"status": {"claims": [{"id": "a", "pod": "search-0", "uid": "u0", "phase": "Draining"}, {"id": "b", "pod": "search-1", "uid": "u1", "phase": "Drained"}]}},
		"pools": [{"name": "search", "replicas": 2}],
		"pods": [{"name": "search-0", "uid": "u0", "pool": "search", "ordinal": 0, "refused": "conflict", "report": {"uid": "u0", "drain": "Draining"}},
			{"name": "search-1", "uid": "u1", "pool": "search", "ordinal": 1, "report": {"uid": "u1", "drain": "Drained"}}]}`
	former := strings.NewReplacer("rollout-halted", "line-stopped", "failure-detection", "settling", `"conflict"`, `"unstable"`,
		"Draining", "Preparing", "Drained", "Prepared").Replace(current)

	want, err := Decode([]byte(current))
	require.NoError(t, err)
	got, err := Decode([]byte(former))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Empty(t, Validate(&got))
	require.True(t, slices.ContainsFunc(got.Cluster.Spec.Overrides, func(o Override) bool {
		return o.Rule == RuleRolloutHalted && len(o.Flaws(got.Now.Time)) == 0
	}))

	plan, err := DecodePlan([]byte(`{"version": 1, "holds": [{"pod": "search-0", "rule": "line-stopped", "reason": "r"}]}`))
	require.NoError(t, err)
	require.Equal(t, RuleRolloutHalted, plan.Holds[0].Rule)
}

// By the decoder of the API server's clients, which is not Decode.
func TestFormerNamesAreReadFromACluster(t *testing.T) {
	var c Claim
	require.NoError(t, json.Unmarshal([]byte(`{"id": "a", "pod": "p", "uid": "u", "phase": "Prepared"}`), &c))
	require.Equal(t, PhaseDrained, c.Phase)
	var o Override
	require.NoError(t, json.Unmarshal([]byte(`{"rule": "line-stopped"}`), &o))
	require.Equal(t, RuleRolloutHalted, o.Rule)
	written, err := json.Marshal(o)
	require.NoError(t, err)
	require.Contains(t, string(written), `"rule":"rollout-halted"`)
}

// No name that is used now is read as another one.
func TestFormerNamesAreNoCurrentOnes(t *testing.T) {
	for _, rule := range Rules() {
		require.Empty(t, formerRules[rule], rule)
	}
	for former, now := range formerPhases {
		require.NotEqual(t, former, now)
		require.Empty(t, formerPhases[now])
	}
	for former, now := range formerDrains {
		require.NotEqual(t, former, now)
		require.Empty(t, formerDrains[now])
	}
}
