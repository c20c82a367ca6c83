package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/policy/naive"
)

// TestNaiveTwinAgreesOnBrokenCopies: the other random snapshots seldom let a copy be what
// decides, as something else holds everybody. Here little else is wrong. The twin agrees
// on who goes before its turn, and on every pod that is asked again at the barrier.
func TestNaiveTwinAgreesOnBrokenCopies(t *testing.T) {
	early := 0
	policy.SomeSnapshots(t, twinNumber(t), 0, 1, func(t *testing.T, g policy.Generator, s policy.Snapshot) {
		if g.Broken() != "" {
			return
		}
		breakCopies(g, &s)
		got := told(policy.Decide(s))
		require.Equal(t, naive.Decide(s), got)
		if len(got.Steps) == 1 && got.Steps[0].Action != policy.Restore && isEarly(s, got.Steps[0].Pod) {
			early++
		}
		for _, p := range s.Pods {
			requireSameAtTheBarrier(t, s, p)
		}
	})
	t.Logf("%d went before their turn", early)
	require.NotZero(t, early)
}

// isEarly: in its turn it would be held.
func isEarly(s policy.Snapshot, pod string) bool {
	hold := naive.NewJudge(&s).Ask(pod, nil)
	return slices.Contains([]policy.Rule{policy.RankOrder, policy.LeaderLast, policy.InOrder}, hold.Rule)
}

// requireSameAtTheBarrier of a pod as if it had been claimed.
func requireSameAtTheBarrier(t *testing.T, s policy.Snapshot, p policy.Pod) {
	t.Helper()
	claims := s.Cluster.Status.Claims
	if !slices.ContainsFunc(claims, func(c policy.Claim) bool { return c.Pod == p.Name }) {
		s.Cluster.Status.Claims = append(slices.Clone(claims), policy.Claim{Pod: p.Name, UID: p.UID})
	}
	wantStep, wantHold := naive.Recheck(s, p.Name)
	step, hold := policy.Recheck(s, p.Name)
	if step != nil {
		step.Notes = nil
	}
	if hold != nil {
		hold = &policy.Hold{Pod: hold.Pod, Rule: hold.Rule, Group: hold.Group}
	}
	require.Equal(t, wantHold, hold, "%s", p.Name)
	require.Equal(t, wantStep, step, "%s", p.Name)
}

// breakCopies leaves little wrong but copies, ranks, last pods and the order of a pool.
func breakCopies(g policy.Generator, s *policy.Snapshot) {
	oneIn := func(n int) bool { return g.IntN(n) == 0 }
	ago := func(d time.Duration) policy.Time { return policy.Time{Time: s.Now.Add(-d)} }
	calmCluster(g, s, ago(time.Duration(1+g.IntN(40))*time.Minute))
	for i := range s.Pools {
		calmPool(g, s, &s.Pools[i])
	}
	ranks := 1 + g.IntN(3)
	for i := range s.Pods {
		p := &s.Pods[i]
		if oneIn(6) {
			continue // as it is
		}
		p.Phase, p.Problem, p.Agent, p.Refused, p.Remove, p.Restart = policy.Ready, "", true, "", oneIn(10), oneIn(6)
		p.MustReplace, p.Conditions, p.Since = nil, nil, ago(time.Hour)
		if !oneIn(4) {
			p.Guard = policy.GuardClosed
		}
		p.Report = &policy.Report{
			UID: p.UID, Self: true, Fresh: !oneIn(20), Member: policy.Live, Settled: !oneIn(4), Last: oneIn(5), Rank: g.IntN(ranks),
		}
		switch g.IntN(14) {
		case 0:
			p.Phase = policy.Started
		case 1:
			p.Phase, p.Problem = policy.Started, policy.CrashLoop
			p.Report.Member = []policy.Membership{policy.NotLive, policy.UnknownMember}[g.IntN(2)]
		case 2:
			p.Phase, p.Report, p.Since = policy.Pending, nil, ago(time.Duration(1+g.IntN(60))*time.Minute)
		case 3:
			p.Report.Member, p.Report.NotLiveSeconds = policy.NotLive, float64(g.IntN(1200))
		case 4:
			p.Report = nil
		}
	}
	for i := range s.Groups {
		group := &s.Groups[i]
		group.Moving = group.Moving && oneIn(5)
		for k := range group.Members {
			states := []policy.MemberState{policy.Down, policy.Recovering, policy.Active, policy.Active, group.Members[k].State}
			group.Members[k].State = states[g.IntN(len(states))]
		}
	}
}

func calmCluster(g policy.Generator, s *policy.Snapshot, progress policy.Time) {
	spec, status := &s.Cluster.Spec, &s.Cluster.Status
	s.Cluster.Paused, spec.Update.Paused, spec.Update.Mode, spec.Update.Canary = false, false, "", policy.Canary{}
	s.Cluster.Window.Open, s.Health.Disagree, s.Fleet = true, "", policy.Fleet{}
	if g.IntN(2) == 0 {
		spec.Policy.Health, s.Health.Verdict = policy.LeastAny, policy.Yellow
	}
	if g.IntN(4) > 0 {
		spec.Update.Adopt, spec.Update.ApproveLeader = policy.AdoptAllow, false
	}
	if g.IntN(8) > 0 {
		status.Claims = nil
	}
	status.LastDeparture, status.LastProgress, status.Initialized = nil, nil, true
	if g.IntN(2) == 0 {
		status.LastProgress = &progress
	}
}

func calmPool(g policy.Generator, s *policy.Snapshot, pool *policy.Pool) {
	pool.Observed, pool.Version = true, ""
	if g.IntN(6) > 0 {
		pool.Operation, pool.ScalingTo = "", nil
	}
	pool.Management = []policy.Management{policy.Parallel, policy.OrderedReady}[g.IntN(2)]
	if g.IntN(2) == 0 {
		s.Cluster.Spec.Update.RollingUpdate = policy.ByPartition
		pool.Strategy, pool.Ordered, pool.Force = policy.RollingUpdateStrategy, nil, g.IntN(10) == 0
		pool.Partition = pool.Start + int32(g.IntN(int(pool.Replicas)+3))
	}
}
