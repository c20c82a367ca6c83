package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// search is a database of three pods in mid-rollout: the highest is updated,
// and each shard has a copy on every pod. Each test gets its own.
func search(t testing.TB, changes ...func(*model.Snapshot)) Decision {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(`
version: 1
now: 2026-11-20T12:00:00Z
cluster:
  namespace: prod
  name: search
  uid: c1
  spec: {engine: Solr, policy: {maxUnavailable: 1}}
  status: {epoch: 12, lastProgress: 2026-11-20T11:58:00Z}
pools:
  - {name: search, replicas: 3, revision: v2}
pods:
  - {name: search-0, uid: u0, pool: search, ordinal: 0, revision: v1, zone: z1, node: n1, report: {uid: u0, ageSeconds: 0.5, roles: [overseer], last: true}}
  - {name: search-1, uid: u1, pool: search, ordinal: 1, revision: v1, zone: z2, node: n2, since: 2026-11-20T09:00:00Z, report: {uid: u1, ageSeconds: 0.8}}
  - {name: search-2, uid: u2, pool: search, ordinal: 2, revision: v2, zone: z3, node: n3, report: {uid: u2}}
nodes:
  - {name: n1, zone: z1}
  - {name: n2, zone: z2, cordoned: true}
  - {name: n3, zone: z3}
groups:
  - id: books/s1
    members:
      - {id: r0, pod: search-0, leader: true}
      - {id: r1, pod: search-1}
      - {id: r2, pod: search-2}
`))
	require.NoError(t, err)
	s, err := model.Decode(data)
	require.NoError(t, err)
	for _, change := range changes {
		change(&s)
	}
	return FromSnapshot(s)
}

// claimed puts a claim on search-1.
func claimed(phase model.ClaimPhase) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		s.Cluster.Status.Claims = []model.Claim{{
			ID: "k1", Pod: "search-1", UID: "u1", Action: model.ActionRestart, Reason: model.ReasonOutdated, Prepare: model.PrepareHandoff,
			From: "v1", To: "v2", Epoch: 12, Phase: phase, StartedAt: model.At(s.Now.Add(-12 * time.Second)), Undo: []byte("x"),
		}}
	}
}

// later moves the clock.
func later(d time.Duration) func(*model.Snapshot) {
	return func(s *model.Snapshot) { s.Now = model.At(s.Now.Add(d)) }
}

func podOf(s *model.Snapshot, name string) *model.Pod {
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			return &s.Pods[i]
		}
	}
	return nil
}

// back gives search-1 a successor on the update revision.
func back(s *model.Snapshot) {
	p := podOf(s, "search-1")
	p.UID, p.Revision = "u1b", "v2"
	p.Report.UID = "u1b"
}
