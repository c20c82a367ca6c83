package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/policy/naive"
)

// Pods that go fast pass every rule again, one after the other, in the implementation that counts
// nothing in advance. No budget is exceeded, and the order is the same.
func TestFastIsSafe(t *testing.T) {
	differs := 0
	policy.EachSnapshot(t, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		slow := policy.Decide(s)
		s.Cluster.Spec.Update.Schedule = model.Fast
		p := policy.Decide(s)
		policy.RequireSound(t, s, p)
		require.Equal(t, slow.Order, p.Order)
		require.Equal(t, slow.Budget, p.Budget)
		if len(model.Validate(&s)) > 0 {
			return // nothing goes
		}
		if sp := s.Cluster.Spec.WithDefaults(); sp.Policy.Unit != model.UnitPod {
			require.Equal(t, slow, p, "units keep their order")
			return
		}
		requireEachMayGo(t, s, p)
		requireSafeAfterwards(t, &s, p.Steps)
		if !slices.Equal(podsOf(slow.Steps), podsOf(p.Steps)) {
			differs++
		}
	})
	t.Logf("in %d of %d snapshots others go than in the order", differs, policy.Snapshots())
	require.NotZero(t, differs, "nothing is ever gained, so nothing is tried here")
}

// requireEachMayGo asks the naive twin about the steps, one by one.
func requireEachMayGo(t *testing.T, s model.Snapshot, p model.Plan) {
	j, steps := naive.NewJudge(&s), goes(p)
	for i, step := range steps {
		held := j.Ask(step.Pod, podsOf(steps[:i]))
		require.Empty(t, held.Rule, "%s", step.Pod)
	}
}
