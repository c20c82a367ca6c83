package status

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// logs is a database of three StatefulSets: data is up to date, the coordinating
// nodes are half way, managers wait.
func logs(t testing.TB, changes ...func(*model.Snapshot)) Decision {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(`
version: 1
now: 2026-11-20T12:00:00Z
cluster:
  namespace: prod
  name: logs
  uid: c1
  spec: {engine: OpenSearch}
  status: {epoch: 3, lastProgress: 2026-11-20T11:58:00Z}
pools:
  - {name: coord, replicas: 2, revision: c2, version: "3.4.0"}
  - {name: data, replicas: 2, revision: d2, version: "3.4.0"}
  - {name: mgr, replicas: 1, revision: m2}
pods:
  - {name: coord-0, uid: c0, pool: coord, ordinal: 0, revision: c1, report: {uid: c0, rank: 60}}
  - {name: coord-1, uid: c1, pool: coord, ordinal: 1, revision: c2, report: {uid: c1, rank: 60}}
  - {name: data-0, uid: d0, pool: data, ordinal: 0, revision: d2, report: {uid: d0, rank: 50}}
  - {name: data-1, uid: d1, pool: data, ordinal: 1, revision: d2, report: {uid: d1, rank: 50}}
  - {name: mgr-0, uid: m0, pool: mgr, ordinal: 0, revision: m1, report: {uid: m0, rank: 70, last: true}}
groups:
  - id: a/0
    members:
      - {id: r0, pod: data-0, leader: true}
      - {id: r1, pod: data-1}
`))
	require.NoError(t, err)
	s, err := model.Decode(data)
	require.NoError(t, err)
	for _, change := range changes {
		change(&s)
	}
	return FromSnapshot(s)
}

func TestPoolsOf(t *testing.T) {
	require.Equal(t, []PoolState{
		{Name: "coord", Revision: "c2", Version: "3.4.0", Desired: 2, Updated: 1, Ready: 2},
		{Name: "data", Revision: "d2", Version: "3.4.0", Desired: 2, Updated: 2, Ready: 2, Complete: true},
		{Name: "mgr", Revision: "m2", Desired: 1, Ready: 1},
	}, PoolsOf(logs(t)))
}

// A pool is complete when every desired pod of it is updated and back, whatever
// its neighbours are.
func TestAPoolIsComplete(t *testing.T) {
	complete := func(changes ...func(*model.Snapshot)) bool { return PoolsOf(logs(t, changes...))[1].Complete }
	require.True(t, complete())
	require.True(t, complete(func(s *model.Snapshot) { podOf(s, "mgr-0").Phase = model.PodPhaseMissing }), "another pool's pod")
	for name, change := range map[string]func(*model.Snapshot){
		"not on the revision": func(s *model.Snapshot) { podOf(s, "data-1").Revision = "d1" },
		"missing":             func(s *model.Snapshot) { podOf(s, "data-1").Phase = model.PodPhaseMissing },
		"without an entry":    func(s *model.Snapshot) { s.Pools[1].Replicas = 3 },
		"not ready":           func(s *model.Snapshot) { podOf(s, "data-1").Phase = model.PodPhaseStarted },
		"no member":           func(s *model.Snapshot) { podOf(s, "data-1").Report.Member = model.MembershipNotLive },
		"not known a member":  func(s *model.Snapshot) { podOf(s, "data-1").Report.Member = model.MembershipUnknown },
		"not caught up":       func(s *model.Snapshot) { podOf(s, "data-1").Report.Settled = false },
		"no report":           func(s *model.Snapshot) { podOf(s, "data-1").Report = nil },
		"one more":            func(s *model.Snapshot) { s.Pools[1].Replicas = 1 },
		"revision unknown":    func(s *model.Snapshot) { s.Pools[1].Revision = ""; podOf(s, "data-0").Revision = "" },
		"unobserved":          func(s *model.Snapshot) { s.Pools[1].Observed = false },
		"claimed": func(s *model.Snapshot) {
			s.Cluster.Status.Claims = []model.Claim{{ID: "k", Pod: "data-1", UID: "d1", Action: model.ActionRestart, Phase: model.PhaseSettling}}
		},
	} {
		require.False(t, complete(change), name)
	}
	require.True(t, complete(func(s *model.Snapshot) { p := podOf(s, "data-1"); p.Agent, p.Report = false, nil }),
		"nobody can speak for a pod without an agent")
	require.True(t, PoolsOf(logs(t, func(s *model.Snapshot) { s.Pools[2].Replicas, s.Pods = 0, s.Pods[:4] }))[2].Complete, "a pool of none")
}

// Each pool has its own numbers, on the wire and as metrics; the counts of the
// cluster are those of all.
func TestEventsOfThreePools(t *testing.T) {
	d := logs(t)
	c := ClusterProto(d)
	require.Len(t, c.GetPools(), 3)
	require.True(t, c.GetPools()[1].GetComplete())
	require.EqualValues(t, 1, c.GetPools()[0].GetUpdated())
	require.Equal(t, "3.4.0", c.GetPools()[0].GetVersion())
	require.Equal(t, PodCounts{Desired: 5, Current: 2, Updated: 3, Ready: 5}, d.Pods)
	for i, updated := range []bool{false, true, true, true, false} {
		require.Equal(t, updated, c.GetPodStates()[i].GetUpdated(), "each pod is compared with its own pool's revision")
	}

	m := newMetrics(prometheus.NewRegistry())
	m.Decided(nil, d)
	for pool, want := range map[string][2]float64{"coord": {1, 1}, "data": {0, 2}, "mgr": {1, 0}} {
		require.Equal(t, want[0], testutil.ToFloat64(m.current.WithLabelValues("prod/logs", pool)), pool)
		require.Equal(t, want[1], testutil.ToFloat64(m.updated.WithLabelValues("prod/logs", pool)), pool)
	}
}

// What is refused of one pool is an Event of the whole database, and says which
// pool and which versions.
func TestRefusedVersionOfOnePoolIsReportedForAll(t *testing.T) {
	before := logs(t)
	refused := logs(t, func(s *model.Snapshot) {
		for i := range s.Pods {
			s.Pods[i].Report.EngineVersion = "2.19.4"
		}
		s.Pools[2].Version = "4.0.0"
	})
	e := eventOf(t, Events(&before, refused), EventVersionRefused)
	require.True(t, e.Warning)
	require.Empty(t, e.Pod)
	require.Equal(t, "version-refused: pool mgr: from 2.19.4, which runs, to 4.0.0: 2 major versions, and 1 is the most in one update; "+
		"unblocked by: another version in the template of mgr", e.Note)
	require.Empty(t, refused.Plan.Steps)
	require.NotContains(t, reasons(Events(&refused, refused)), EventVersionRefused, "once")
	held, err := Explain(refused, "coord-0")
	require.NoError(t, err)
	require.Equal(t, model.RuleVersionRefused, held.Rule)
}

// The only copy of an index is told of with the step, and in an Event when the pod
// is claimed, which is before anything is done to it.
func TestOnlyCopyIsReportedBeforeItGoes(t *testing.T) {
	single := func(s *model.Snapshot) {
		s.Pods[2].Revision = "d1"
		s.Groups = append(s.Groups, model.Group{ID: "alone/0", Kind: model.GroupShard, Members: []model.Member{
			{ID: "r", Pod: "data-0", State: model.MemberActive, Eligible: true},
		}})
	}
	before := logs(t, single)
	require.Equal(t, []string{"unprotected: alone/0 has its only member on this pod: nobody serves it meanwhile"}, before.Plan.Steps[0].Notes)
	after := logs(t, single, func(s *model.Snapshot) {
		s.Cluster.Status.Claims = []model.Claim{{ID: "k", Pod: "data-0", UID: "d0", Action: model.ActionRestart, Reason: model.ReasonOutdated,
			Prepare: model.PrepareHandoff, Phase: model.PhaseClaimed, From: "d1", To: "d2"}}
	})
	e := eventOf(t, Events(&before, after), EventUnprotectedRestart)
	require.Equal(t, "data-0", e.Pod)
	require.Equal(t, "data-0: unprotected: alone/0 has its only member on this pod: nobody serves it meanwhile", e.Note)
}
