package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// onDeadNode has a pod that terminates on a node that is gone, and an override that names it.
func onDeadNode(t *testing.T, changes ...func(*model.Snapshot)) model.Snapshot {
	s := threePods(t)
	s.Nodes = []model.Node{{Name: "node1", Gone: true}, {Name: "node2"}}
	p := &s.Pods[1]
	p.Phase, p.Node, p.Revision = model.PodPhaseTerminating, "node1", s.Pools[0].Revision
	s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleNodeGone, Pods: []string{p.Name}, Reason: "the rack has no power", Expires: model.At(noon.Add(time.Hour))}}
	for _, c := range changes {
		c(&s)
	}
	return s
}

// Only an override by name deletes a pod whose containers nobody has seen end, and only while its
// node is gone.
func TestForceDeletes(t *testing.T) {
	names := func(s model.Snapshot) []string {
		var list []string
		for _, p := range ForceDeletes(s) {
			list = append(list, p.Name)
		}
		return list
	}
	name := threePods(t).Pods[1].Name
	require.Equal(t, []string{name}, names(onDeadNode(t)), "it need not be out of date")
	for what, change := range map[string]func(*model.Snapshot){
		"no override":                 func(s *model.Snapshot) { s.Cluster.Spec.Overrides = nil },
		"an override of all pods":     func(s *model.Snapshot) { s.Cluster.Spec.Overrides[0].Pods = []string{"*"} },
		"one of another pod":          func(s *model.Snapshot) { s.Cluster.Spec.Overrides[0].Pods = []string{s.Pods[0].Name} },
		"one of another rule":         func(s *model.Snapshot) { s.Cluster.Spec.Overrides[0].Rule = model.RuleHealth },
		"one that has expired":        func(s *model.Snapshot) { s.Cluster.Spec.Overrides[0].Expires = model.At(noon) },
		"its node is back":            func(s *model.Snapshot) { s.Nodes[0].Gone = false },
		"nobody has deleted it":       func(s *model.Snapshot) { s.Pods[1].Phase = model.PodPhaseStarted },
		"a pause":                     func(s *model.Snapshot) { s.Cluster.Paused = true },
		"update.paused":               func(s *model.Snapshot) { s.Cluster.Spec.Update.Paused = true },
		"it is only looked at":        func(s *model.Snapshot) { s.Cluster.Spec.Update.Mode = model.ModeObserve },
		"a field makes no sense":      func(s *model.Snapshot) { s.Pools[0].Replicas = -1 },
		"it is not known which it is": func(s *model.Snapshot) { s.Pods[1].UID = "" },
	} {
		require.Empty(t, names(onDeadNode(t, change)), what)
	}
	require.Equal(t, []string{name}, names(onDeadNode(t, func(s *model.Snapshot) {
		s.Cluster.Status.Claims = []model.Claim{{ID: "c", Pod: name, UID: s.Pods[1].UID, Action: model.ActionRestart, Phase: model.PhaseOpened}}
	})), "it may be claimed")
}

// A wait for a pod that cannot come back by itself says what a person can do.
func TestWaitsSayWhatToDo(t *testing.T) {
	s := threePods(t)
	claim := model.Claim{ID: "c", Pod: s.Pods[1].Name, UID: "before", Action: model.ActionRestart, Phase: model.PhaseGone}
	s.Cluster.Status.Claims = []model.Claim{claim}
	s.Pods[1].Phase, s.Pods[1].Problem, s.Pods[1].Report = model.PodPhaseNotStarted, model.ProblemVolume, nil
	s.Pods[1].Since = model.At(noon.Add(-5 * time.Minute))
	r := Returned(s, claim)
	require.Contains(t, r.Why.Reason, "a volume cannot be attached or mounted")
	require.Contains(t, r.Why.Unblocks, "FailedAttachVolume")
	require.False(t, r.Failed, "a volume may still come")

	s = onDeadNode(t)
	claim.UID = s.Pods[1].UID
	s.Pods[1].Problem = model.ProblemNodeGone
	r = Returned(s, claim)
	require.Contains(t, r.Why.Unblocks, "override of node-gone")
}
