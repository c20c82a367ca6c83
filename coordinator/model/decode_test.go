package model

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"not JSON", `version: 1`, "not JSON"},
		{"nothing", ``, "not JSON"},
		{"a list", `[]`, "the document is not an object"},
		{"something else", `{"kind":"Pod"}`, "unknown field kind"},
		{"no version", `{}`, "version is missing: this program reads version 1"},
		{"another version", `{"version":2}`, "version is 2: this program reads version 1"},
		{"unknown field", `{"version":1,"pods":[{},{"report":{"memberr":"Live"}}]}`, "unknown field pods[1].report.memberr"},
		{"another case", `{"version":1,"Pods":[]}`, "unknown field Pods"},
		{"unknown field of the spec", `{"version":1,"cluster":{"spec":{"update":{"pause":true}}}}`, "unknown field cluster.spec.update.pause"},
		{"twice", `{"version":1,"pools":[{"name":"a","name":"b"}]}`, "pools[0].name is given twice"},
		{"wrong type", `{"version":1,"pods":[{"ordinal":"3"}]}`, `pods[0].ordinal is "3": must be a whole number of at most 32 bits`},
		{"overflow", `{"version":1,"pods":[{"ordinal":99999999999}]}`, "pods[0].ordinal is 99999999999"},
		{"wrong time", `{"version":1,"now":"noon"}`, `now: "noon" is not a time such as 2026-11-20T12:00:00Z`},
		{"list for an object", `{"version":1,"health":[]}`, "health is not an object"},
		{"object for a list", `{"version":1,"pods":{}}`, "pods is not a list"},
		{"no quantity", `{"version":1,"cluster":{"spec":{"policy":{"maxUnavailable":{}}}}}`, "cluster.spec.policy.maxUnavailable: {} is neither a count nor a percentage"},
		{"claim's groups", `{"version":1,"cluster":{"status":{"claims":[{"groups":{"a":1,"a":2}}]}}}`, `cluster.status.claims[0].groups["a"] is given twice`},
		{"no replicas", `{"version":1,"pools":[{"name":"a"}]}`, "pools[0].replicas is missing"},
		{"replicas of null", `{"version":1,"pools":[{"replicas":null}]}`, "pools[0].replicas is missing"},
		{"no failures", `{"version":1,"cluster":{"spec":{"policy":{"maxFailed":0}}}}`, "cluster.spec.policy.maxFailed is 0: must be at least 1, or nothing for the default"},
		{"no time", `{"version":1,"cluster":{"spec":{"drain":{"timeoutSeconds":0}}}}`, "cluster.spec.drain.timeoutSeconds is 0"},
		{"no detection", `{"version":1,"cluster":{"spec":{"replacement":{"failureDetectionSeconds":0}}}}`, "cluster.spec.replacement.failureDetectionSeconds is 0"},
		{"a word of YAML", `{"version":1,"pods":[{"zone":true}]}`, "pods[0].zone is true: must be text, in quotes where YAML takes it for something else"},
		{"not UTF-8", "{\"version\":1,\"cluster\":{\"name\":\"\xff\"}}", "not all UTF-8"},
		{"trailing data", `{"version":1}{}`, "not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode([]byte(c.in))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// What is left out, or null, stays so: the spec is decided on as it was written.
func TestDecodeLeavesWhatIsLeftOut(t *testing.T) {
	s, err := Decode([]byte(`{"version":1,"cluster":{"spec":{"policy":{"maxFailed":null},"drain":{},"replacement":{"failureDetectionSeconds":5}}}}`))
	require.NoError(t, err)
	require.Equal(t, Policy{}, s.Cluster.Spec.Policy)
	require.Equal(t, Drain{}, s.Cluster.Spec.Drain)
	require.Equal(t, Replacement{FailureDetectionSeconds: 5}, s.Cluster.Spec.Replacement)
}

func TestDecodeFillsInWhatIsOrdinary(t *testing.T) {
	s, err := Decode([]byte(`{"version":1,"pools":[{"name":"p","replicas":2}],"pods":[{"name":"p-0","report":{}},{"name":"p-1","report":null}],
		"groups":[{"id":"g","members":[{}]},{"id":"q","kind":"Quorum"},{"id":"r","kind":"Role","needsLeader":true}]}`))
	require.NoError(t, err)
	require.True(t, s.Cluster.GuardEnforcing)
	require.True(t, s.Cluster.Window.Open)
	require.True(t, s.Cluster.Status.Initialized)
	require.Equal(t, 1, s.Cluster.Engine.MaxMajorStep)
	require.Equal(t, VerdictGreen, s.Health.Verdict)
	require.Equal(t, Pool{Name: "p", Replicas: 2, Observed: true, Agents: true, Management: ManagementParallel, Strategy: StrategyOnDelete}, s.Pools[0])
	report := Report{Self: true, Fresh: true, Member: MembershipLive, Settled: true, Drain: DrainNone}
	require.Equal(t, Pod{Name: "p-0", Phase: PodPhaseReady, Agent: true, Guard: GuardClosed, EstimateSeconds: 60, Report: &report}, s.Pods[0])
	require.Nil(t, s.Pods[1].Report)
	require.Equal(t, Member{State: MemberActive, Eligible: true}, s.Groups[0].Members[0])
	require.True(t, s.Groups[0].NeedsLeader, "a shard needs a leader")
	require.False(t, s.Groups[1].NeedsLeader, "a quorum does not, unless it is said")
	require.True(t, s.Groups[2].NeedsLeader)
}

// TestWhatNobodyFilledInStaysUnknown when it is written and read.
func TestWhatNobodyFilledInStaysUnknown(t *testing.T) {
	data, err := json.Marshal(Snapshot{Version: 1, Pods: []Pod{{Name: "p-0"}}})
	require.NoError(t, err)
	s, err := Decode(data)
	require.NoError(t, err)
	require.False(t, s.Pods[0].Agent)
	require.False(t, s.Cluster.GuardEnforcing)
	require.Empty(t, s.Health.Verdict)
}

func TestUndoIsBytes(t *testing.T) {
	s, err := Decode([]byte(`{"version":1,"cluster":{"status":{"claims":[{"id":"k","undo":"aGk=","startedAt":"2026-11-20T11:00:00.5Z","groups":{"a":2}}]}}}`))
	require.NoError(t, err)
	claim := s.Cluster.Status.Claims[0]
	require.Equal(t, "hi", string(claim.Undo))
	require.Equal(t, map[string]int32{"a": 2}, claim.Groups)
	data, err := json.Marshal(claim)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"k","pod":"","uid":"","undo":"aGk=","startedAt":"2026-11-20T11:00:00.5Z","groups":{"a":2}}`, string(data))
}

// FuzzSnapshot reads anything as a snapshot and as a plan. What can be read is read again
// from what is written of it, and is validated without a panic.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"version":1,"cluster":{"spec":{"policy":{"maxUnavailable":"25%"}}},"pools":[{"name":"p","replicas":2}],"pods":[{"name":"p-0","report":{}}],"groups":[{"members":[{}]}]}`))
	f.Add([]byte(`{"version":1,"order":["p-0"],"steps":[{"pod":"p-0","partition":3}],"holds":[{"rule":"busy"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Decode(data); err == nil {
			Validate(&s)
			again, err := json.Marshal(s)
			require.NoError(t, err)
			_, err = Decode(again)
			require.NoError(t, err)
		}
		if p, err := DecodePlan(data); err == nil {
			_ = p.Text()
			again, err := json.Marshal(p)
			require.NoError(t, err)
			read, err := DecodePlan(again)
			require.NoError(t, err)
			require.Equal(t, p.Text(), read.Text())
		}
	})
}
