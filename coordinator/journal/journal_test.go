package journal

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func entry(t *testing.T) Entry {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(`
version: 1
now: 2026-11-20T12:00:00.25Z
cluster: {namespace: prod, name: search, spec: {engine: Solr, policy: {maxUnavailable: 1}}, status: {epoch: 12}}
pools: [{name: search, replicas: 3, revision: v2}]
pods:
  - {name: search-0, uid: u0, pool: search, ordinal: 0, revision: v1, report: {uid: u0, ageSeconds: 0.1}}
  - {name: search-1, uid: u1, pool: search, ordinal: 1, revision: v1, report: {uid: u1, ageSeconds: 0.30000000000000004}}
  - {name: search-2, uid: u2, pool: search, ordinal: 2, revision: v2, report: {uid: u2}}
`))
	require.NoError(t, err)
	s, err := model.Decode(data)
	require.NoError(t, err)
	return Entry{At: model.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)), Epoch: 12, Snapshot: s, Plan: policy.Decide(s)}
}

func written(t *testing.T, j Journal) []byte {
	t.Helper()
	data, err := json.Marshal(j)
	require.NoError(t, err)
	return data
}

func TestReplayAgrees(t *testing.T) {
	was := Journal{Version: Version, Cluster: "prod/search", Entries: []Entry{entry(t), entry(t)}}
	is, err := Decode(written(t, was))
	require.NoError(t, err)
	require.Equal(t, was.Cluster, is.Cluster)
	require.Len(t, is.Entries, 2)
	for _, e := range is.Entries {
		require.Equal(t, int64(12), e.Epoch)
		_, same, err := Replay(e)
		require.NoError(t, err)
		require.True(t, same)
	}
}

func TestReplayTellsAnotherPlan(t *testing.T) {
	e := entry(t)
	e.Snapshot.Cluster.Paused = true
	plan, same, err := Replay(e)
	require.NoError(t, err)
	require.False(t, same)
	require.Empty(t, plan.Steps)
	require.NotEmpty(t, e.Plan.Steps)
}

func TestDiffersLooksAtVerdictsOnly(t *testing.T) {
	a := entry(t).Plan
	for name, change := range map[string]struct {
		apply func(*model.Plan)
		want  bool
	}{
		"nothing":   {func(*model.Plan) {}, false},
		"text":      {func(p *model.Plan) { p.Holds[0].Reason = "other" }, false},
		"forecast":  {func(p *model.Plan) { p.Forecast.Seconds++ }, false},
		"retry":     {func(p *model.Plan) { p.RetryAfterSeconds++ }, false},
		"phase":     {func(p *model.Plan) { p.Phase = model.ClusterStalled }, true},
		"order":     {func(p *model.Plan) { p.Order = p.Order[:1] }, true},
		"uid":       {func(p *model.Plan) { p.Steps[0].UID = "other" }, true},
		"no step":   {func(p *model.Plan) { p.Steps = nil }, true},
		"prepare":   {func(p *model.Plan) { p.Steps[0].Prepare = model.PrepareNone }, true},
		"rule":      {func(p *model.Plan) { p.Holds[0].Rule = model.RuleBusy }, true},
		"held pod":  {func(p *model.Plan) { p.Holds[0].Pod = "search-9" }, true},
		"group":     {func(p *model.Plan) { p.Holds[0].Group = "g" }, true},
		"one fewer": {func(p *model.Plan) { p.Holds = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := entry(t).Plan
			require.NotEmpty(t, b.Steps)
			require.NotEmpty(t, b.Holds)
			change.apply(&b)
			require.Equal(t, change.want, Differs(a, b))
		})
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	good := string(written(t, Journal{Version: Version, Entries: []Entry{entry(t)}}))
	for text, want := range map[string]string{
		``:                             "journal: EOF",
		`{}`:                           "version is missing",
		`{"version":2}`:                "version is 2: this program reads version 1",
		`{"version":1}`:                "entries is missing",
		`{"version":1,"entry":[]}`:     `unknown field "entry"`,
		good + good:                    "trailing data",
		`{"version":1,"entries":[{}]}`: "entries[0]: snapshot: not JSON",
		`{"version":1,"entries":[{"snapshot":{"version":1,"pood":[]}}]}`: "entries[0]: snapshot: unknown field pood",
		`{"version":1,"entries":[{"snapshot":{"version":1},"plan":{}}]}`: "entries[0]: plan: version is missing",
	} {
		_, err := Decode([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"entries":[{"at":"2026-11-20T12:00:00Z","snapshot":{"version":1},"plan":{"version":1}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := Decode(data)
		if err != nil {
			return
		}
		for _, e := range j.Entries {
			if _, _, err := Replay(e); err != nil {
				t.Fatal(err)
			}
		}
	})
}
