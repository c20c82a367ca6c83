package act

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func rolling(strategy policy.Strategy, by policy.RollingUpdate) policy.Snapshot {
	live := &policy.Report{Member: policy.Live, Fresh: true, Settled: true}
	s := policy.Snapshot{Version: policy.Version, Now: policy.At(time.Unix(1e9, 0)), Health: policy.Health{Verdict: policy.Green}}
	s.Cluster.GuardEnforcing, s.Cluster.Window.Open, s.Cluster.Status.Initialized = true, true, true
	s.Cluster.Spec.Update.RollingUpdate = by
	s.Pools = []policy.Pool{{Name: "s", Replicas: 1, Revision: "v2", Observed: true, Strategy: strategy, Partition: 1}}
	s.Pods = []policy.Pod{{Name: "s-0", UID: "0", Pool: "s", Phase: policy.Ready, Revision: "v1", Agent: true, Guard: policy.GuardClosed, Report: live}}
	return s
}

// What an Actor cannot carry out is held by the policy, in words; so nothing is
// silently left undone.
func TestRollingUpdateIsRefusedInWords(t *testing.T) {
	for by, action := range map[policy.RollingUpdate]policy.Action{policy.ByPartition: policy.LowerPartition, policy.ByGuard: policy.Restart} {
		s := rolling(policy.RollingUpdateStrategy, by)
		if by == policy.ByGuard {
			s.Pools[0].Partition = 0
		}
		plan := policy.Decide(s)
		require.Len(t, plan.Steps, 1, plan.Text())
		require.Equal(t, action, plan.Steps[0].Action)

		a := &Actor{}
		a.Annotate(&s)
		plan = policy.Decide(s)
		require.Empty(t, plan.Steps)
		require.Empty(t, plan.Lines)
		for _, h := range plan.Holds {
			require.Equal(t, policy.BadInput, h.Rule)
			require.Contains(t, h.Reason, "pools[s] is refused: its strategy is RollingUpdate, which this coordinator does not carry out")
		}
		require.Len(t, plan.Holds, 2, "of the cluster, and of the pod")

		_, hold := policy.Recheck(s, "s-0")
		require.True(t, endsClaim(hold.Rule), "a claim from before is given up")
	}
	s := rolling(policy.OnDelete, policy.ByPartition)
	(&Actor{}).Annotate(&s)
	require.Len(t, policy.Decide(s).Steps, 1)
}

// Even a plan that says so is not carried out.
func TestNoClaimInARollingUpdatePool(t *testing.T) {
	for _, action := range []policy.Action{policy.LowerPartition, policy.Restart, policy.Remove, policy.Handoff} {
		for strategy, claims := range map[policy.Strategy]int{policy.RollingUpdateStrategy: 0, policy.OnDelete: 1} {
			if action == policy.LowerPartition {
				claims = 0
			}
			a := &Actor{log: slog.New(slog.DiscardHandler), options: Options{NewID: newID, Grant: func(int) bool { return true }}, made: map[string]bool{}}
			at := Situation{Cluster: &v1alpha1.DatabaseCluster{}, Snapshot: rolling(strategy, policy.ByPartition)}
			at.Plan.Steps = []policy.Step{{Pod: "s-0", UID: "0", Action: action, Prepare: policy.PrepareHandoff, Reason: policy.ReasonOutdated}}
			var out Outcome
			a.Claim(at, &out)
			require.Len(t, out.Edits.Add, claims, "%s of %s", action, strategy)
		}
	}
}
