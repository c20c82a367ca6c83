package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// targets are the partitions to which a plan lowers, by pod.
func targets(p Plan) map[string]int32 {
	all := map[string]int32{}
	for _, s := range p.Steps {
		if s.Partition != nil {
			all[s.Pod] = *s.Partition
		}
	}
	return all
}

// TestTargetsOfTheLine: each step goes to the pod that it frees, force to 0.
func TestTargetsOfTheLine(t *testing.T) {
	scripts := goldenSnapshots(t)
	for name, want := range map[string]map[string]int32{
		"moco_seed_new_template":          {"mysql-2": 2},
		"moco_seed_partition_is_replicas": {"mysql-2": 2},
		"moco_seed_start_ordinal":         {"mysql-12": 12},
		"moco_seed_until_zero":            {"mysql-0": 0},
		"moco_seed_corrected":             {},
		"partition_closed_guard":          {},
		"partition_past_many":             {"mysql-2": 2},
		"partition_broken_below_repaired": {"mysql-4": 4, "mysql-3": 3, "mysql-2": 2},
		"moco_seed_force":                 {"mysql-2": 0, "mysql-1": 0, "mysql-0": 0},
		"guard_force":                     {"mysql-2": 0, "mysql-1": 0, "mysql-0": 0},
	} {
		require.Equal(t, want, targets(Decide(scripts[name])), name)
	}
	notes := Decide(scripts["moco_seed_force"]).Steps[0].Notes
	require.Contains(t, strings.Join(notes, "\n"), "rollcall.dev/force-rolling-update")
}

// TestHeldRepairsComeWithAdvice: what would repair a broken pod that the line
// holds is said.
func TestHeldRepairsComeWithAdvice(t *testing.T) {
	s := goldenSnapshots(t)["moco_seed_pod_zero_broken_no_guard"]
	p := Decide(s)
	require.Equal(t, Hold{
		Pod: "mysql-0", Rule: InOrder,
		Reason:   "it is broken and below the partition 1000000 of pool mysql: lowering that to 0 would free 2 outdated pods with it, such as mysql-2, and not all of them may go now",
		Unblocks: `mysql-2 on its way, or the annotation rollcall.dev/force-rolling-update: "true" on the StatefulSet`,
	}, p.Holds[0])
	require.Equal(t, ClusterStalled, p.Phase, "nothing else goes, so no time need pass")
}

// TestRecheckOfALoweredPod: its own open guard does not hold the pod that goes,
// and a source that has not handed over does not go above its replicas.
func TestRecheckOfALoweredPod(t *testing.T) {
	s := goldenSnapshots(t)["partition_version_order"]
	s.Cluster.Status.Claims = []Claim{{ID: "k", Pod: "mysql-2", UID: "u2", Action: LowerPartition, Prepare: PrepareHandoff, Phase: PhasePrepared, To: "v2"}}
	step, hold := Recheck(s, "mysql-2")
	require.Nil(t, step)
	require.Equal(t, VersionOrder, hold.Rule)

	for i := range s.Pods {
		s.Pods[i].Report.After = nil // it has handed over
	}
	step, hold = Recheck(s, "mysql-2")
	require.Nil(t, hold)
	require.Equal(t, LowerPartition, step.Action)

	for name, change := range map[string]func(){
		"open":     func() { s.Pods[2].Guard = GuardOpen },
		"no guard": func() { s.Cluster.Spec.Guard = GuardOff },
	} {
		s.Pools[0].Partition = 2
		change()
		step, hold = Recheck(s, "mysql-2")
		require.Nil(t, hold, name)
		require.Equal(t, Restart, step.Action, name)
	}
}

// TestLeaderDoesNotWaitForWhoWaitsForIt: a last pod above the line, and one below
// that was claimed with it, would hold each other for ever.
func TestLeaderDoesNotWaitForWhoWaitsForIt(t *testing.T) {
	s := goldenSnapshots(t)["partition_leader_last"]
	two := Count(2)
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxShardUnavailable = &two, &two
	claim := func(pod, uid string) Claim {
		return Claim{ID: pod, Pod: pod, UID: uid, Action: LowerPartition, Prepare: PrepareHandoff, Phase: PhasePrepared, From: "v1", To: "v2"}
	}
	s.Cluster.Status.Claims = []Claim{claim("mysql-2", "u2"), claim("mysql-1", "u1")}
	step, hold := Recheck(s, "mysql-2")
	require.Nil(t, hold)
	require.Equal(t, LowerPartition, step.Action)

	s.Pods[1].Phase = Terminating // it has gone after all
	step, hold = Recheck(s, "mysql-2")
	require.Nil(t, step)
	require.Equal(t, LeaderLast, hold.Rule)
}

// TestLinesOfThePlan: they are left out where there are none.
func TestLinesOfThePlan(t *testing.T) {
	scripts := goldenSnapshots(t)
	p := Decide(scripts["moco_seed_finished"])
	require.Equal(t, []Line{{Pool: "mysql", Partition: 1_000_000, Reason: "all of it is on revision v2 and back"}}, p.Lines)
	require.Equal(t, ClusterDone, p.Phase, "the line is ours to put back, and nobody waits for it")
	require.Nil(t, Decide(scripts["moco_seed_rests"]).Lines)
}

// TestLoweringFreesOnlyWhoMayGo recounts, from the snapshot alone, whom the
// new lines of a plan would free; a closed guard keeps the controller from a pod.
func TestLoweringFreesOnlyWhoMayGo(t *testing.T) {
	lowered, passed := 0, 0
	eachSnapshot(t, func(t *testing.T, _ generator, s Snapshot) {
		p := Decide(s)
		lines := map[string]int32{}
		for _, pool := range s.Pools {
			lines[pool.Name] = pool.Partition
		}
		goes := map[string]bool{}
		for _, step := range p.Steps {
			goes[step.Pod] = step.Action != Restore
			if step.Action == LowerPartition {
				pool := podOf(s, step.Pod).Pool
				lines[pool] = min(lines[pool], *step.Partition)
				lowered++
			}
		}
		for _, l := range p.Lines {
			if l.Partition < lines[l.Pool] {
				lines[l.Pool] = l.Partition
				passed++
			}
		}
		x := newIndex(&s, "")
		for i := range x.pods {
			o := &x.pods[i]
			kept := s.Cluster.Spec.WithDefaults().Guard == GuardEnforce && s.Cluster.GuardEnforcing && o.Guard == GuardClosed
			freed := o.Ordinal < o.pool.Partition && o.Ordinal >= lines[o.Pool] && (o.pool.Force || !kept)
			if freed && o.desired && isOutdated(o) && o.Phase != Terminating && o.claim == nil && !goes[o.Name] {
				require.True(t, o.pool.Force, "%s is freed and was not asked", o.Name)
				if r := x.whyGo(o); r == ReasonScaleDown || r == ReasonReplacement {
					continue // it goes for good
				}
				for _, h := range p.Holds {
					require.False(t, h.Pod == o.Name && !asksForced[h.Rule], "%s is freed by force, and held by %s", o.Name, h.Rule)
				}
			}
		}
	})
	t.Logf("%d steps lower a line, and %d lines pass pods that are up to date", lowered, passed)
	require.Greater(t, lowered, *snapshots/150)
	require.GreaterOrEqual(t, passed, *snapshots/1000)
}

func podOf(s Snapshot, name string) Pod {
	for _, p := range s.Pods {
		if p.Name == name {
			return p
		}
	}
	return Pod{}
}

// TestPartitionRollsOutWithoutAGuard plays the StatefulSet controller, which
// takes whatever it may: never more than one pod is away, each goes once, and
// in the end the line rests.
func TestPartitionRollsOutWithoutAGuard(t *testing.T) {
	for _, line := range []int32{RestLine, 5} {
		t.Run(fmt.Sprint(line), func(t *testing.T) {
			s := goldenSnapshots(t)["moco_seed_scale_out_healthy"]
			s.Cluster.Spec.Guard = GuardOff
			pool := &s.Pools[0]
			pool.Partition = line
			for i := range s.Pods {
				s.Pods[i].Guard = GuardNone
			}
			went := []string{}
			for range 20 {
				s.Now = At(s.Now.Add(time.Minute))
				p := Decide(s)
				for _, l := range p.Lines {
					require.Empty(t, p.Steps)
					pool.Partition = l.Partition
				}
				if len(p.Steps) == 0 {
					break
				}
				require.Len(t, p.Steps, 1)
				pool.Partition = *p.Steps[0].Partition
				for i := range s.Pods {
					if o := &s.Pods[i]; o.Ordinal >= pool.Partition && o.Revision != pool.Revision {
						went = append(went, o.Name)
						o.UID, o.Revision, o.Report.UID = o.UID+"'", pool.Revision, o.UID+"'"
					}
				}
				require.Equal(t, p.Steps[0].Pod, went[len(went)-1])
			}
			require.Equal(t, []string{"mysql-4", "mysql-3", "mysql-2", "mysql-1", "mysql-0"}, went)
			require.Equal(t, RestLine, pool.Partition)
			require.Equal(t, ClusterDone, Decide(s).Phase)
			require.Empty(t, Decide(s).Lines)
		})
	}
}
