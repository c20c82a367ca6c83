package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// targets returns the partitions to which a plan lowers, by pod.
func targets(p model.Plan) map[string]int32 {
	all := map[string]int32{}
	for _, s := range p.Steps {
		if s.Partition != nil {
			all[s.Pod] = *s.Partition
		}
	}
	return all
}

// Each step lowers the partition to the pod that it frees, force to 0.
func TestPartitionTargets(t *testing.T) {
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

// A hold by the partition says what would repair the broken pod.
func TestHeldRepairsComeWithAdvice(t *testing.T) {
	s := goldenSnapshots(t)["moco_seed_pod_zero_broken_no_guard"]
	p := Decide(s)
	require.Equal(t, model.Hold{
		Pod: "mysql-0", Rule: model.RuleOrderedReady,
		Reason:   "it is broken and below the partition 1000000 of pool mysql: lowering that to 0 would free 2 outdated pods with it, such as mysql-2, and not all of them may go now",
		Unblocks: `mysql-2 on its way, or the annotation rollcall.dev/force-rolling-update: "true" on the StatefulSet`,
	}, p.Holds[0])
	require.Equal(t, model.ClusterStalled, p.Phase, "nothing else goes, so no time need pass")
}

// Its own open guard does not hold the pod that goes, and a source that has not handed over does
// not go above its replicas.
func TestRecheckOfALoweredPod(t *testing.T) {
	s := goldenSnapshots(t)["partition_version_order"]
	s.Cluster.Status.Claims = []model.Claim{{ID: "k", Pod: "mysql-2", UID: "u2", Action: model.ActionLowerPartition, Prepare: model.PrepareHandoff, Phase: model.PhaseDrained, To: "v2"}}
	step, hold := Recheck(s, "mysql-2")
	require.Nil(t, step)
	require.Equal(t, model.RuleVersionOrder, hold.Rule)

	for i := range s.Pods {
		s.Pods[i].Report.After = nil // it has handed over
	}
	step, hold = Recheck(s, "mysql-2")
	require.Nil(t, hold)
	require.Equal(t, model.ActionLowerPartition, step.Action)

	for name, change := range map[string]func(){
		"open":     func() { s.Pods[2].Guard = model.GuardOpen },
		"no guard": func() { s.Cluster.Spec.Guard = model.GuardOff },
	} {
		s.Pools[0].Partition = 2
		change()
		step, hold = Recheck(s, "mysql-2")
		require.Nil(t, hold, name)
		require.Equal(t, model.ActionRestart, step.Action, name)
	}
}

// A last pod above the partition, and one below that was claimed with it, would hold each other for
// ever.
func TestLeaderDoesNotWaitForPodsThatWaitForIt(t *testing.T) {
	s := goldenSnapshots(t)["partition_leader_last"]
	two := model.Count(2)
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxShardUnavailable = &two, &two
	claim := func(pod, uid string) model.Claim {
		return model.Claim{ID: pod, Pod: pod, UID: uid, Action: model.ActionLowerPartition, Prepare: model.PrepareHandoff, Phase: model.PhaseDrained, From: "v1", To: "v2"}
	}
	s.Cluster.Status.Claims = []model.Claim{claim("mysql-2", "u2"), claim("mysql-1", "u1")}
	step, hold := Recheck(s, "mysql-2")
	require.Nil(t, hold)
	require.Equal(t, model.ActionLowerPartition, step.Action)

	s.Pods[1].Phase = model.PodPhaseTerminating // it has gone after all
	step, hold = Recheck(s, "mysql-2")
	require.Nil(t, step)
	require.Equal(t, model.RuleLeaderLast, hold.Rule)
}

// Partitions are left out if there are none.
func TestPartitionsOfThePlan(t *testing.T) {
	scripts := goldenSnapshots(t)
	p := Decide(scripts["moco_seed_finished"])
	require.Equal(t, []model.Line{{Pool: "mysql", Partition: 1_000_000, Reason: "all of it is on revision v2 and back"}}, p.Lines)
	require.Equal(t, model.ClusterDone, p.Phase, "the partition is ours to put back, and nobody waits for it")
	require.Nil(t, Decide(scripts["moco_seed_rests"]).Lines)
}

// TestLoweringFreesOnlyWhoMayGo recounts, from the snapshot alone, which pods the new partitions of
// a plan would free. A closed guard keeps the controller from a pod.
func TestLoweringFreesOnlyWhoMayGo(t *testing.T) {
	lowered, passed := 0, 0
	eachSnapshot(t, func(t *testing.T, _ generator, s model.Snapshot) {
		p := Decide(s)
		lines := map[string]int32{}
		for _, pool := range s.Pools {
			lines[pool.Name] = pool.Partition
		}
		goes := map[string]bool{}
		for _, step := range p.Steps {
			goes[step.Pod] = step.Action != model.ActionRestore
			if step.Action == model.ActionLowerPartition {
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
		x := cluster.New(&s, "")
		for i := range x.Pods {
			o := &x.Pods[i]
			kept := s.Cluster.Spec.WithDefaults().Guard == model.GuardEnforce && s.Cluster.GuardEnforcing && o.Guard == model.GuardClosed
			freed := o.Ordinal < o.OwnPool.Partition && o.Ordinal >= lines[o.Pool] && (o.OwnPool.Force || !kept)
			if freed && o.Desired && cluster.IsOutdated(o) && o.Phase != model.PodPhaseTerminating && o.Claim == nil && !goes[o.Name] {
				require.True(t, o.OwnPool.Force, "%s is freed and was not asked", o.Name)
				if r := restartReason(x, o); r == model.ReasonScaleDown || r == model.ReasonReplacement {
					continue // it goes for good
				}
				for _, h := range p.Holds {
					require.False(t, h.Pod == o.Name && !asksForced[h.Rule], "%s is freed by force, and held by %s", o.Name, h.Rule)
				}
			}
		}
	})
	t.Logf("%d steps lower a partition, and %d lines pass pods that are up to date", lowered, passed)
	require.Greater(t, lowered, *snapshots/150)
	require.GreaterOrEqual(t, passed, *snapshots/1000)
}

func podOf(s model.Snapshot, name string) model.Pod {
	for _, p := range s.Pods {
		if p.Name == name {
			return p
		}
	}
	return model.Pod{}
}

// TestPartitionRollsOutWithoutAGuard plays the StatefulSet controller, which updates every pod that
// it may: never more than one pod is unavailable, each goes once, and in the end the partition
// rests.
func TestPartitionRollsOutWithoutAGuard(t *testing.T) {
	for _, line := range []int32{model.FirstOrdinalNone, 5} {
		t.Run(fmt.Sprint(line), func(t *testing.T) {
			s := goldenSnapshots(t)["moco_seed_scale_out_healthy"]
			s.Cluster.Spec.Guard = model.GuardOff
			pool := &s.Pools[0]
			pool.Partition = line
			for i := range s.Pods {
				s.Pods[i].Guard = model.GuardNone
			}
			went := []string{}
			for range 20 {
				s.Now = model.At(s.Now.Add(time.Minute))
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
			require.Equal(t, model.FirstOrdinalNone, pool.Partition)
			require.Equal(t, model.ClusterDone, Decide(s).Phase)
			require.Empty(t, Decide(s).Lines)
		})
	}
}

// A pod of which a copy recovers, and one below that was claimed with it, would hold each other for
// ever.
func TestRecheckCountsOnPodsThatWaitBehind(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Snapshot)
		held   bool
	}{
		"it waits, and serves":     {func(*model.Snapshot) {}, false},
		"the own state is unknown": {func(s *model.Snapshot) { s.Groups[0].Members[3].State = model.MemberUnknown }, false},
		"it has gone after all":    {func(s *model.Snapshot) { s.Pods[2].Phase = model.PodPhaseTerminating }, true},
		"it is not settled":        {func(s *model.Snapshot) { s.Pods[2].Report.Settled = false }, true},
		"its copy recovers, too":   {func(s *model.Snapshot) { s.Groups[0].Members[2].State = model.MemberRecovering }, true},
		"it is up to date":         {func(s *model.Snapshot) { s.Pods[2].Revision = "v2" }, true},
		"it is to be replaced":     {func(s *model.Snapshot) { s.Cluster.Status.Claims[1].Action = model.ActionReplace }, true},
		"another is missing":       {func(s *model.Snapshot) { s.Groups[0].Members[1].State = model.MemberDown }, true},
		"another's pod is unknown": {func(s *model.Snapshot) { s.Groups[0].Members[1].Pod = "solr-7" }, true},
		"the guard lets it pass": {func(s *model.Snapshot) {
			s.Cluster.Spec.Guard, s.Cluster.GuardEnforcing, s.Pods[3].Guard = model.GuardEnforce, true, model.GuardClosed
		}, true},
		"the guard is open": {func(s *model.Snapshot) {
			s.Cluster.Spec.Guard, s.Cluster.GuardEnforcing, s.Pods[3].Guard = model.GuardEnforce, true, model.GuardOpen
		}, false},
		"all in domains": {func(s *model.Snapshot) { inDomains(s, "a", "b", "c", "d") }, false},
		"half of a domain is missing": {func(s *model.Snapshot) {
			inDomains(s, "a", "b", "b", "d")
			s.Groups[0].Members[1].State = model.MemberDown
		}, true},
		"half of the own domain is missing": {func(s *model.Snapshot) {
			inDomains(s, "a", "b", "c", "b")
			s.Groups[0].Members[1].State = model.MemberDown
		}, false},
		"half of a role's domain is missing": {func(s *model.Snapshot) {
			inDomains(s, "a", "b", "b", "d")
			one := int32(1)
			s.Groups[0].Kind, s.Groups[0].MinAvailable = model.GroupRole, &one
			s.Groups[0].Members[1].State = model.MemberDown
		}, false},
		"half of the own domain of a role is missing": {func(s *model.Snapshot) {
			inDomains(s, "a", "b", "c", "b")
			one := int32(1)
			s.Groups[0].Kind, s.Groups[0].MinAvailable = model.GroupRole, &one
			s.Groups[0].Members[1].State = model.MemberDown
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(t, "partition_catching_up")
			require.Equal(t, map[string]int32{"solr-3": 3, "solr-2": 2}, targets(Decide(s)))
			s.Cluster.Status.Claims = claimsOf(Decide(s))
			c.change(&s)
			step, hold := Recheck(s, "solr-3")
			if c.held {
				require.Nil(t, step)
				require.Equal(t, model.RuleCatchingUp, hold.Rule, hold.Reason)
				return
			}
			require.Nil(t, hold)
			require.Equal(t, model.ActionLowerPartition, step.Action)
		})
	}
}

// inDomains puts the members of the first group into domains.
func inDomains(s *model.Snapshot, domains ...string) {
	for i := range domains {
		s.Groups[0].Members[i].Domain = domains[i]
	}
}

// Of the pods that one plan takes by a partition, each passes at the barrier even with the claims
// of those below it, which can go only after it.
func TestPodsThatWaitBehindHoldNoOther(t *testing.T) {
	together, recovering := 0, 0
	eachSnapshot(t, func(t *testing.T, g generator, s model.Snapshot) {
		if g.broken != "" {
			return
		}
		claims, before := g.claimedByPartition(&s), s.Cluster.Status.Claims
		for i, first := range claims {
			s.Cluster.Status.Claims = slices.Concat(before, claims[:i+1])
			if _, hold := Recheck(s, first.Pod); hold != nil || first.Action != model.ActionLowerPartition {
				continue
			}
			n := len(s.Cluster.Status.Claims)
			for _, later := range claims[i+1:] {
				o, p := podOf(s, later.Pod), podOf(s, first.Pod)
				if later.Action == model.ActionLowerPartition && o.Pool == p.Pool && o.Ordinal < p.Ordinal {
					s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, later)
				}
			}
			if len(s.Cluster.Status.Claims) == n {
				continue
			}
			kept := s.Cluster.Spec.Guard == model.GuardEnforce && s.Cluster.GuardEnforcing && podOf(s, first.Pod).Guard == model.GuardClosed
			if kept {
				continue // these do not have to wait for it
			}
			_, hold := Recheck(s, first.Pod)
			require.Nil(t, hold, "%s beside %d below it", first.Pod, len(s.Cluster.Status.Claims)-n)
			together++
			for _, group := range s.Groups {
				recovering += cluster.Count(slices.ContainsFunc(group.Members, func(m model.Member) bool {
					return m.Pod == first.Pod && !cluster.IsAvailable(m.State) && m.State != model.MemberDown
				}))
			}
		}
	})
	t.Logf("%d, with %d copies that recover or may", together, recovering)
	require.Greater(t, together, *snapshots/100)
	require.Positive(t, recovering)
}
