// Package webtest is a rollout for the tests of the page.
package webtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Noon is when the rollout begins.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Books is a Solr of nine pods in three zones, with each shard on three of them. The three highest
// pods are updated. A test can make changes.
func Books(t testing.TB, changes ...func(*model.Snapshot)) status.Decision {
	t.Helper()
	s, err := model.Decode([]byte(`{"version":1,"now":"2026-11-20T12:00:00Z","cluster":{"namespace":"prod","name":"books","uid":"c1",
		"spec":{"engine":"Solr","policy":{"maxUnavailable":2}},"status":{"epoch":3}},
		"pools":[{"name":"books","replicas":9,"revision":"v2"}]}`))
	require.NoError(t, err)
	for i := range 9 {
		name, uid := fmt.Sprintf("books-%d", i), fmt.Sprintf("u%d", i)
		pod := model.Pod{
			Name: name, UID: uid, Pool: "books", Ordinal: int32(i), Node: fmt.Sprintf("n%d", i), Revision: "v1", Phase: model.PodPhaseReady, Agent: true,
			Guard: model.GuardClosed, EstimateSeconds: 40,
			Report: &model.Report{UID: uid, Self: true, AgeSeconds: 0.5, Fresh: true, Member: model.MembershipLive, Settled: true, Drain: model.DrainNone},
		}
		if i >= 6 {
			pod.Revision = "v2"
		}
		s.Pods = append(s.Pods, pod)
		s.Nodes = append(s.Nodes, model.Node{Name: pod.Node, Zone: fmt.Sprintf("z%d", i%3)})
	}
	s.Pods[0].Report.Roles = []string{"overseer"}
	s.Health.Verdict = model.VerdictGreen
	for g := range 6 {
		group := model.Group{ID: fmt.Sprintf("books/shard%d", g+1), Kind: model.GroupShard, NeedsLeader: true}
		for m := range 3 {
			at := (g + 3*m + m) % 9
			group.Members = append(group.Members, model.Member{
				ID: fmt.Sprintf("r%d%d", g, m), Pod: fmt.Sprintf("books-%d", at), State: model.MemberActive, Leader: m == 0, Eligible: true,
			})
		}
		s.Groups = append(s.Groups, group)
	}
	for _, change := range changes {
		change(&s)
	}
	return status.FromSnapshot(s)
}

// At sets the time of the snapshot, in seconds after Noon.
func At(seconds int) func(*model.Snapshot) {
	return func(s *model.Snapshot) { s.Now = model.At(Noon.Add(time.Duration(seconds) * time.Second)) }
}

// OnTheWay puts a claim on a pod. In phase Gone, the pod is missing.
func OnTheWay(pod int, phase model.ClaimPhase) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		p := &s.Pods[pod]
		s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, model.Claim{
			ID: p.UID + "-1", Pod: p.Name, UID: p.UID, Action: model.ActionRestart, Reason: model.ReasonOutdated, Phase: phase, From: "v1", To: "v2", Epoch: 3,
		})
		if phase == model.PhaseGone {
			p.Phase, p.UID, p.Report = model.PodPhaseMissing, "", nil
			for g := range s.Groups {
				loses(s.Groups[g].Members, p.Name)
			}
		}
	}
}

// loses marks the members of a pod as lost; another one leads.
func loses(members []model.Member, pod string) {
	led := false
	for i := range members {
		if m := &members[i]; m.Pod == pod {
			led = led || m.Leader
			m.State, m.Leader = model.MemberDown, false
		}
	}
	for i := range members {
		if led && members[i].State == model.MemberActive {
			members[i].Leader = true
			return
		}
	}
}

// UpdatedTo gives the new revision to all pods from an ordinal upwards.
func UpdatedTo(pod int) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		for i := pod; i < len(s.Pods); i++ {
			s.Pods[i].Revision = "v2"
		}
	}
}

// Paused pauses the cluster, which holds every pod.
func Paused(s *model.Snapshot) { s.Cluster.Paused = true }

// Rolling publishes some minutes of a rollout on the board. The changes are made to the last snapshot.
func Rolling(t testing.TB, board *status.Board, changes ...func(*model.Snapshot)) {
	t.Helper()
	board.Lead()
	for i, d := range []status.Decision{
		Books(t, At(0)),
		Books(t, At(1), OnTheWay(5, model.PhaseDraining)),
		Books(t, At(4), OnTheWay(5, model.PhaseGone), OnTheWay(1, model.PhaseDraining)),
		Books(t, At(30), UpdatedTo(5), OnTheWay(1, model.PhaseGone)),
		Books(t, append([]func(*model.Snapshot){At(52), UpdatedTo(5), OnTheWay(1, model.PhaseRejoined), OnTheWay(4, model.PhaseGone)}, changes...)...),
	} {
		require.NotEmpty(t, d.Plan.Order, i)
		board.Publish(d)
	}
}
