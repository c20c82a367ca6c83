package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// A claimed pod that the partition frees only after another is counted on when that one goes, so it
// must exist. A pod that goes first counts as unavailable, and does not have to exist.
func TestPodsFreedLaterMustExist(t *testing.T) {
	now := time.Unix(10_000, 0)
	s := threePods(now)
	s.Pools[0].Strategy, s.Pools[0].Partition = model.StrategyRollingUpdate, model.FirstOrdinalNone
	s.Cluster.GuardEnforcing = false
	for _, pod := range s.Pods[1:] {
		s.Cluster.Status.Claims = append(s.Cluster.Status.Claims,
			model.Claim{ID: "of " + pod.Name, Pod: pod.Name, UID: pod.UID, Action: model.ActionLowerPartition, Phase: model.PhaseDrained})
	}
	a := stepOn(Facts{Snapshot: s, Pools: []effect.Pool{{Name: "s", UID: "set"}}}, now)
	for going, pods := range map[string][]effect.Target{
		"s-2": {{Pod: "s-0", UID: "0"}, {Pod: "s-1", UID: "1"}},
		"s-1": {{Pod: "s-0", UID: "0"}},
	} {
		e := a.expectedOfAll(going)
		require.Equal(t, pods, e.Pods, going)
		require.Equal(t, a.Pools, e.Pools)
	}

	a.Snapshot.Pods[0].Phase = model.PodPhaseTerminating
	require.Empty(t, a.expectedOfAll("s-1").Pods, "who is going is counted as unavailable already")
	a.Snapshot.Pods[0].Phase, a.Pools = model.PodPhaseReady, nil
	require.Empty(t, a.expectedOfAll("s-1").Pods, "nobody can ask for pods of a pool that is not known")
}

// Only volume claims with names of the pod's StatefulSet's templates are deleted.
func TestOnlyOwnVolumesAreDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		pod       string
		templates map[string][]string
		own       []string
		shown     bool
	}{
		"two templates":            {"s-1", map[string][]string{"s": {"data", "logs"}}, []string{"data-s-1", "logs-s-1"}, true},
		"no StatefulSet":           {"other-0", map[string][]string{"s": {"data"}}, nil, false},
		"a name that ends like it": {"mine-s-0", map[string][]string{"s": {"data"}}, nil, false},
		"no templates":             {"s-1", map[string][]string{"s": nil}, nil, false},
	} {
		claim := model.Claim{ID: "c", Pod: c.pod, UID: "u"}
		a := stepOn(Facts{VolumeTemplates: c.templates, Record: Record{Claims: []model.Claim{claim}}}, time.Unix(10_000, 0))
		a.deleteVolumes(claim)
		require.Len(t, a.out.Effects, 1, name)
		e := a.out.Effects[0].(effect.DeleteVolumes)
		require.Equal(t, c.own, e.Own, name)
		require.Equal(t, c.shown, e.SetShown, name)
		require.True(t, e.PodGone, name)
		require.Equal(t, &claim, e.Expected.Claim, name)
	}
}

// An effect that is carried out while a StatefulSet is paused was decided on with the pause known:
// the partition goes up, so that the controller removes no pod in the meantime.
func TestAPauseThatWasDecidedOnIsExpected(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, paused := range []bool{false, true} {
		a := stepOn(Facts{Snapshot: threePods(now), Pools: []effect.Pool{{Name: "s"}}}, now)
		a.Snapshot.Cluster.Paused = paused
		a.Snapshot.Pools[0].Strategy = model.StrategyRollingUpdate
		a.movePartition(a.Pools[0], model.Line{Pool: "s", Partition: 3})
		require.Equal(t, paused, a.out.Effects[0].(effect.MovePartition).Expected.Paused)
		require.Equal(t, paused, a.expectedOfAll("").Paused)
	}
}
