package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// failsByContainer reports whether the container itself shows that the pod has failed.
func failsByContainer(p *model.Pod) bool {
	return p.Phase == model.PodPhaseFailed || cluster.Loops(p.Problem)
}

// No pod is considered failed because a member has not been live for less than a start may take, or
// for an unknown time.
func TestABlipIsNoFailure(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s model.Snapshot) {
		shorter := s.Cluster.Spec.WithDefaults().Policy.StartSeconds - 1
		for i := range s.Pods {
			if r := s.Pods[i].Report; r != nil && r.Member == model.MembershipNotLive {
				r.NotLiveSeconds = pick(g.apart, 0, 1, float64(shorter))
			}
		}
		for _, step := range Decide(s).Steps {
			for i := range s.Pods {
				if p := &s.Pods[i]; p.Name == step.Pod && step.Reason == model.ReasonFailed {
					require.True(t, failsByContainer(p), "%s is taken for failed, and its container is %s", p.Name, p.Phase)
				}
			}
		}
	})
}

// A pod that is not live for a moment may be back in the next, so restarting such pods makes
// something unavailable: never more Ready pods than the budget has, even if all of them are not
// live.
func TestABlipLeavesTheBudgetsAsTheyAre(t *testing.T) {
	went := 0
	eachSnapshot(t, func(t *testing.T, _ generator, s model.Snapshot) {
		s.Cluster.Spec.Overrides = nil
		ready := map[string]bool{}
		for i := range s.Pods {
			p := &s.Pods[i]
			if r := p.Report; r != nil && p.Agent && r.Self && p.Phase == model.PodPhaseReady && p.Guard == model.GuardClosed {
				r.Member, r.NotLiveSeconds, r.Fresh = model.MembershipNotLive, 2, true
				ready[p.Name] = true
			}
		}
		p := Decide(s)
		taken := 0
		for _, step := range p.Steps {
			taken += cluster.Count(ready[step.Pod] && step.Action != model.ActionRestore && step.Action != model.ActionLowerPartition)
		}
		if taken == 0 || anyShutdownOrForce(&s) {
			return
		}
		went++
		require.LessOrEqual(t, taken, p.Budget.Pods.Limit, "%d of the pods that may be back in a moment go", taken)
	})
	require.NotZero(t, went, "none ever goes, so nothing was tried")
}

func anyShutdownOrForce(s *model.Snapshot) bool {
	for i := range s.Pools {
		if p := &s.Pools[i]; p.Force || p.AllowShutdown {
			return true
		}
	}
	return s.Cluster.Spec.Policy.Unit == model.UnitAll
}
