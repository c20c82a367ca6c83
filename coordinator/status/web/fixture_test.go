package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// books is a Solr of nine pods in three zones, each shard on three of them.
// The change has come to the highest three; each change is one of a test.
func books(t testing.TB, changes ...func(*model.Snapshot)) status.Decision {
	t.Helper()
	s, err := model.Decode([]byte(`{"version":1,"now":"2026-11-20T12:00:00Z","cluster":{"namespace":"prod","name":"books","uid":"c1",
		"spec":{"engine":"Solr","policy":{"maxUnavailable":2}},"status":{"epoch":3}},
		"pools":[{"name":"books","replicas":9,"revision":"v2"}]}`))
	require.NoError(t, err)
	for i := range 9 {
		name, uid := fmt.Sprintf("books-%d", i), fmt.Sprintf("u%d", i)
		pod := model.Pod{
			Name: name, UID: uid, Pool: "books", Ordinal: int32(i), Node: fmt.Sprintf("n%d", i), Revision: "v1", Phase: model.Ready, Agent: true,
			Guard: model.GuardClosed, EstimateSeconds: 40,
			Report: &model.Report{UID: uid, Self: true, AgeSeconds: 0.5, Fresh: true, Member: model.Live, Settled: true, Drain: model.DrainNone},
		}
		if i >= 6 {
			pod.Revision = "v2"
		}
		s.Pods = append(s.Pods, pod)
		s.Nodes = append(s.Nodes, model.Node{Name: pod.Node, Zone: fmt.Sprintf("z%d", i%3)})
	}
	s.Pods[0].Report.Roles = []string{"overseer"}
	s.Health.Verdict = model.Green
	for g := range 6 {
		group := model.Group{ID: fmt.Sprintf("books/shard%d", g+1), Kind: model.Shard, NeedsLeader: true}
		for m := range 3 {
			at := (g + 3*m + m) % 9
			group.Members = append(group.Members, model.Member{
				ID: fmt.Sprintf("r%d%d", g, m), Pod: fmt.Sprintf("books-%d", at), State: model.Active, Leader: m == 0, Eligible: true,
			})
		}
		s.Groups = append(s.Groups, group)
	}
	for _, change := range changes {
		change(&s)
	}
	return status.FromSnapshot(s)
}

func at(seconds int) func(*model.Snapshot) {
	return func(s *model.Snapshot) { s.Now = model.At(noon.Add(time.Duration(seconds) * time.Second)) }
}

// onTheWay puts a claim on a pod; from Gone on there is none.
func onTheWay(pod int, phase model.ClaimPhase) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		p := &s.Pods[pod]
		s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, model.Claim{
			ID: p.UID + "-1", Pod: p.Name, UID: p.UID, Action: model.Restart, Reason: model.ReasonOutdated, Phase: phase, From: "v1", To: "v2", Epoch: 3,
		})
		if phase == model.PhaseGone {
			p.Phase, p.UID, p.Report = model.Missing, "", nil
			for g := range s.Groups {
				loses(s.Groups[g].Members, p.Name)
			}
		}
	}
}

// loses takes the members of a pod away; another one leads.
func loses(members []model.Member, pod string) {
	led := false
	for i := range members {
		if m := &members[i]; m.Pod == pod {
			led = led || m.Leader
			m.State, m.Leader = model.Down, false
		}
	}
	for i := range members {
		if led && members[i].State == model.Active {
			members[i].Leader = true
			return
		}
	}
}

// updatedTo makes all pods from an ordinal on those of the new revision.
func updatedTo(pod int) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		for i := pod; i < len(s.Pods); i++ {
			s.Pods[i].Revision = "v2"
		}
	}
}

// paused holds everybody.
func paused(s *model.Snapshot) { s.Cluster.Paused = true }

// rolling is a board on which a rollout went on for some minutes.
func rolling(t testing.TB, changes ...func(*model.Snapshot)) (*status.Board, *Timelines) {
	t.Helper()
	timelines := NewTimelines()
	board := status.NewBoard(timelines)
	board.Lead()
	for i, d := range []status.Decision{
		books(t, at(0)),
		books(t, at(1), onTheWay(5, model.PhasePreparing)),
		books(t, at(4), onTheWay(5, model.PhaseGone), onTheWay(1, model.PhasePreparing)),
		books(t, at(30), updatedTo(5), onTheWay(1, model.PhaseGone)),
		books(t, append([]func(*model.Snapshot){at(52), updatedTo(5), onTheWay(1, model.PhaseRejoined), onTheWay(4, model.PhaseGone)}, changes...)...),
	} {
		require.NotEmpty(t, d.Plan.Order, i)
		board.Publish(d)
	}
	return board, timelines
}
