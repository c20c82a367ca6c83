package rollout

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// stepOn is a step on facts, of which nothing is decided yet. The coordinator has just taken
// over, in epoch 1.
func stepOn(facts Facts, now time.Time) *step {
	return &step{s: NewState(1, Before{}).clone(), Facts: facts, now: now, out: &Decision{Edits: newEdits(), Moment: progress.Moment{Waiting: map[string]string{}}}}
}

// threePods is a healthy database of three pods with a shard on all of them, and a new template.
func threePods(now time.Time) policy.Snapshot {
	one := policy.Count(1)
	spec := policy.Spec{Engine: policy.Solr}
	spec.Policy.MaxUnavailable = &one
	s := policy.Snapshot{
		Version: policy.Version, Now: policy.At(now),
		Cluster: policy.Cluster{
			Namespace: "prod", Name: "search", UID: "u", Spec: spec.WithDefaults(),
			Status: policy.Status{Epoch: 1, Initialized: true}, Window: policy.WindowState{Open: true},
			Engine: policy.EngineFacts{MaxMajorStep: 1}, GuardEnforcing: true,
		},
		Pools: []policy.Pool{{Name: "s", Replicas: 3, Revision: "v2", Observed: true,
			Management: policy.Parallel, Strategy: policy.OnDelete}},
		Health: policy.Health{Verdict: policy.Green},
		Groups: []policy.Group{{ID: "books/1", Kind: policy.Shard, NeedsLeader: true}},
	}
	for i := range int32(3) {
		name, uid := fmt.Sprintf("s-%d", i), fmt.Sprint(i)
		s.Pods = append(s.Pods, policy.Pod{
			Name: name, UID: uid, Pool: "s", Ordinal: i, Node: "n", Zone: "z", Agent: true, EstimateSeconds: 8,
			Since: policy.At(now.Add(-time.Second)), Phase: policy.Ready, Guard: policy.GuardClosed, Revision: "v1",
			Report: &policy.Report{UID: uid, Self: true, Fresh: true, Member: policy.Live, Settled: true},
		})
		s.Groups[0].Members = append(s.Groups[0].Members, policy.Member{ID: "core_" + name, Pod: name, State: policy.Active, Eligible: true, Leader: i == 0})
	}
	return s
}
