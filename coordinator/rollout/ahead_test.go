package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestAheadOfAClaim(t *testing.T) {
	s := model.Snapshot{
		Pools: []model.Pool{{Name: "s", Revision: "v2", Strategy: model.StrategyRollingUpdate, Partition: 3, Replicas: 4}},
		Pods: []model.Pod{
			{Name: "s-1", Pool: "s", Ordinal: 1, Revision: "v1", Phase: model.PodPhaseReady, Guard: model.GuardClosed},
			{Name: "s-2", UID: "u2", Pool: "s", Ordinal: 2, Revision: "v1", Phase: model.PodPhaseReady, Guard: model.GuardClosed},
			{Name: "s-3", Pool: "s", Ordinal: 3, Revision: "v1", Phase: model.PodPhaseReady},
		},
	}
	claim := model.Claim{Pod: "s-1", Action: model.ActionLowerPartition}
	behind := func() bool { return len(goFirst(s, claim)) > 0 }
	require.True(t, behind(), "no guard is enforced")
	deadlock := func() string {
		return stepOn(Facts{Snapshot: s}, time.Time{}).deadlock(claim, goFirst(s, claim))
	}
	require.Equal(t, "s-2 goes first, and has no claim", deadlock())
	s.Cluster.Status.Claims = []model.Claim{{Pod: "s-2", UID: s.Pods[1].UID}}
	require.Empty(t, deadlock())
	s.Cluster.GuardEnforcing = true
	require.False(t, behind())
	s.Pods[1].Guard = model.GuardOpen
	require.True(t, behind())
	for _, change := range []func(){
		func() { s.Pods[1].Phase = model.PodPhaseTerminating },
		func() { s.Pods[1].Phase, s.Pods[1].Revision = model.PodPhaseReady, "v2" },
		func() { s.Pods[1].Revision, s.Pools[0].Partition = "v1", 2 },
	} {
		change()
		require.False(t, behind())
	}
}

func TestPartitionsCountFromTheFirstOrdinal(t *testing.T) {
	require.EqualValues(t, 12, model.FirstOrdinal(2, 10))
	require.EqualValues(t, 2, model.PartitionOf(12, 10))
	require.EqualValues(t, 0, model.PartitionOf(0, 10))
	require.Equal(t, model.FirstOrdinalNone, model.FirstOrdinal(model.FirstOrdinalNone, 10))
	require.Equal(t, model.FirstOrdinalNone, model.PartitionOf(model.FirstOrdinalNone, 10))
}
