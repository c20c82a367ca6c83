package rollout

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// stepOn returns a step on facts, for which nothing is decided yet. The coordinator has just taken
// over, in epoch 1.
func stepOn(facts Facts, now time.Time) *step {
	return &step{s: NewState(1, Before{}).clone(), Facts: facts, now: now, handsOver: map[string]bool{}, out: &Outcome{Edits: newEdits(), Moment: progress.Moment{Waiting: map[string]string{}}}}
}

// threePods is a healthy database of three pods with a shard on all of them, and a new template.
func threePods(now time.Time) model.Snapshot {
	one := model.Count(1)
	spec := model.Spec{Engine: model.Solr}
	spec.Policy.MaxUnavailable = &one
	s := model.Snapshot{
		Version: model.Version, Now: model.At(now),
		Cluster: model.Cluster{
			Namespace: "prod", Name: "search", UID: "u", Spec: spec.WithDefaults(),
			Status: model.Status{Epoch: 1, Initialized: true}, Window: model.WindowState{Open: true},
			Engine: model.EngineFacts{MaxMajorStep: 1}, GuardEnforcing: true,
		},
		Pools: []model.Pool{{Name: "s", Replicas: 3, Revision: "v2", Observed: true,
			Management: model.ManagementParallel, Strategy: model.StrategyOnDelete}},
		Health: model.Health{Verdict: model.VerdictGreen},
		Groups: []model.Group{{ID: "books/1", Kind: model.GroupShard, NeedsLeader: true}},
	}
	for i := range int32(3) {
		name, uid := fmt.Sprintf("s-%d", i), fmt.Sprint(i)
		s.Pods = append(s.Pods, model.Pod{
			Name: name, UID: uid, Pool: "s", Ordinal: i, Node: "n", Zone: "z", Agent: true, EstimateSeconds: 8,
			Since: model.At(now.Add(-time.Second)), Phase: model.PodPhaseReady, Guard: model.GuardClosed, Revision: "v1",
			Report: &model.Report{UID: uid, Self: true, Fresh: true, Member: model.MembershipLive, Settled: true},
		})
		s.Groups[0].Members = append(s.Groups[0].Members, model.Member{ID: "core_" + name, Pod: name, State: model.MemberActive, Eligible: true, Leader: i == 0})
	}
	return s
}
