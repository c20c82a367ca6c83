package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

func TestPhases(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*model.Snapshot)
		want   model.ClusterPhase
	}{
		{"a claim is open", func(*model.Snapshot) {}, model.ClusterRolling},
		{"something goes", noClaims, model.ClusterRolling},
		{"paused", func(s *model.Snapshot) { s.Cluster.Paused = true }, model.ClusterPaused},
		{"paused by the spec", func(s *model.Snapshot) { noClaims(s); s.Cluster.Spec.Update.Paused = true }, model.ClusterPaused},
		{"held", func(s *model.Snapshot) { noClaims(s); s.Health.Verdict = model.VerdictRed }, model.ClusterWaiting},
		{"held for too long", func(s *model.Snapshot) { noClaims(s); s.Health.Verdict = model.VerdictRed; progress(s, 600) }, model.ClusterStalled},
		{"held for not quite too long", func(s *model.Snapshot) { noClaims(s); s.Health.Verdict = model.VerdictRed; progress(s, 599) }, model.ClusterWaiting},
		{"outside of the window for long", func(s *model.Snapshot) { noClaims(s); s.Cluster.Window.Open = false; progress(s, 9999) }, model.ClusterWaiting},
		{"a claim makes no progress", func(s *model.Snapshot) { progress(s, 600) }, model.ClusterStalled},
		{"going after a long rest", func(s *model.Snapshot) { noClaims(s); progress(s, 9999) }, model.ClusterRolling},
		{"all is done", func(s *model.Snapshot) { noClaims(s); updated(s) }, model.ClusterDone},
		{"one is still unavailable", func(s *model.Snapshot) { noClaims(s); updated(s); s.Pods[0].Report.Settled = false }, model.ClusterIdle},
		{"the revision is not known", func(s *model.Snapshot) { noClaims(s); s.Pools[0].Revision = "" }, model.ClusterIdle},
		{"the pool is not observed", func(s *model.Snapshot) { noClaims(s); s.Pools[0].Observed = false }, model.ClusterIdle},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threePods(t)
			c.change(&s)
			require.Equal(t, c.want, Decide(s).Phase, Decide(s).Text())
		})
	}
}

func noClaims(s *model.Snapshot) { s.Cluster.Status.Claims = nil }

func updated(s *model.Snapshot) {
	for i := range s.Pods {
		s.Pods[i].Revision = "v2"
	}
}

func progress(s *model.Snapshot, secondsAgo int) {
	at := model.At(s.Now.Add(-time.Duration(secondsAgo) * time.Second))
	s.Cluster.Status.LastProgress = &at
}

func TestBudgetOfThePlan(t *testing.T) {
	s := threePods(t)
	s.Pods[0].Report.Settled = false
	two := model.Count(2)
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxZonesUnavailable = &two, &two
	s.Pods[0].Zone = "z1"
	require.Equal(t, model.Budget{
		Pods:  model.PodBudget{Limit: 2, Away: 2, Claimed: 1, Room: 0},
		Zones: model.ZoneBudget{Limit: 2, Away: 2},
	}, Decide(s).Budget)
}

// If no pod exists, none lacks an agent, so the limit is that of the policy.
func TestBudgetWhileEverybodyIsMissing(t *testing.T) {
	s := threePods(t)
	noClaims(&s)
	two := model.Count(2)
	s.Cluster.Spec.Policy.MaxUnavailable = &two
	for i := range s.Pods {
		s.Pods[i].Phase, s.Pods[i].Report = model.PodPhaseMissing, nil
	}
	p := Decide(s)
	require.Equal(t, model.PodBudget{Limit: 2, Away: 3, Room: -1}, p.Budget.Pods)
	require.Equal(t, model.ClusterIdle, p.Phase, "nothing should go, and not everything is back")
}

// A time is given if a clock will change the answer.
func TestRetryOnlyForClocks(t *testing.T) {
	at := func(d time.Duration) *model.Time { x := model.At(noon.Add(d)); return &x }
	for _, c := range []struct {
		name   string
		change func(*model.Snapshot)
		want   int64
	}{
		{"events only", func(*model.Snapshot) {}, 0},
		{"the window opens", func(s *model.Snapshot) { s.Cluster.Window = model.WindowState{NextChange: at(90 * time.Minute)} }, 5400},
		{"the window closes", func(s *model.Snapshot) { s.Cluster.Window = model.WindowState{Open: true, NextChange: at(time.Hour)} }, 0},
		{"a database that has yet to notice", func(s *model.Snapshot) {
			s.Cluster.Status.LastDeparture = at(-5500 * time.Millisecond)
			s.Cluster.Engine.SettleSeconds = 15
		}, 10},
		{"soaking", func(s *model.Snapshot) {
			s.Cluster.Spec.Policy.SoakSeconds = 60
			s.Pods[0].Since = *at(-20 * time.Second)
		}, 40},
		{"the nearest of two", func(s *model.Snapshot) {
			s.Cluster.Spec.Policy.SoakSeconds = 60
			s.Pods[0].Since = *at(-20 * time.Second)
			s.Cluster.Window = model.WindowState{NextChange: at(30 * time.Second)}
		}, 30},
		{"starting", func(s *model.Snapshot) {
			s.Pods[1].Phase, s.Pods[1].Since, s.Pods[1].Report = model.PodPhaseNotStarted, *at(-590 * time.Second), nil
		}, 10},
		{"no node takes it", func(s *model.Snapshot) {
			s.Pods[1].Phase, s.Pods[1].Since, s.Pods[1].Report = model.PodPhasePending, *at(-590 * time.Second), nil
			s.Pods[1].Problem = model.ProblemUnschedulable
		}, 10},
		{"starting, and paused", func(s *model.Snapshot) {
			s.Pods[1].Phase, s.Pods[1].Since, s.Pods[1].Report = model.PodPhaseNotStarted, *at(-590 * time.Second), nil
			s.Cluster.Paused = true
		}, 0},
		{"soaking, and paused", func(s *model.Snapshot) {
			s.Cluster.Paused = true
			s.Cluster.Spec.Policy.SoakSeconds = 60
			s.Pods[0].Since = *at(-20 * time.Second)
		}, 0},
		{"Ready and not live", func(s *model.Snapshot) {
			s.Cluster.Window.Open = false
			s.Pods[1].Report.Member, s.Pods[1].Report.NotLiveSeconds = model.MembershipNotLive, 300
		}, 300},
		{"a new pod that will have failed", func(s *model.Snapshot) {
			s.Pods[1].Phase, s.Pods[1].Since, s.Pods[1].Report, s.Pods[1].Revision = model.PodPhaseStarted, *at(-300 * time.Second), nil, "v2"
		}, 300},
		{"an old pod that starts and is live", func(s *model.Snapshot) {
			s.Pods[1].Phase, s.Pods[1].Since = model.PodPhaseStarted, *at(-300 * time.Second)
		}, 0},
		{"two of them, more than may be unavailable", func(s *model.Snapshot) {
			s.Pods[0].Phase, s.Pods[0].Since = model.PodPhaseStarted, *at(-400 * time.Second)
			s.Pods[1].Phase, s.Pods[1].Since = model.PodPhaseStarted, *at(-300 * time.Second)
		}, 200},
		{"a claimed pod that is missing", func(s *model.Snapshot) {
			s.Cluster.Status.Claims = []model.Claim{{Pod: "solr-1", UID: "u1", To: "v2", Phase: model.PhaseGone}}
			s.Pods[1] = model.Pod{Name: "solr-1", Pool: "solr", Ordinal: 1, Phase: model.PodPhaseMissing, Since: *at(-300 * time.Second)}
		}, 300},
		{"an override in force", func(s *model.Snapshot) {
			s.Health.Verdict = model.VerdictRed
			s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleHealth, Pods: []string{"*"}, Reason: "r", Expires: *at(30 * time.Second)}}
		}, 30},
		{"an override that nobody needs", func(s *model.Snapshot) {
			s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleHealth, Pods: []string{"*"}, Reason: "r", Expires: *at(30 * time.Second)}}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threePods(t)
			noClaims(&s)
			c.change(&s)
			require.Equal(t, c.want, Decide(s).RetryAfterSeconds, Decide(s).Text())
		})
	}
}

func TestNotesOfAStep(t *testing.T) {
	s := goldenSnapshots(t)["unprotected_two_on_one"]
	s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleVeto, Pods: []string{"solr-0"}, Reason: "INC-7", Expires: model.At(noon.Add(time.Hour))}}
	require.Equal(t, []string{"unprotected: books/s1 has 2 of its 3 members on this pod"}, Decide(s).Steps[0].Notes)
	s.Pods[0].Report.Veto = "no"
	require.Equal(t, []string{
		"override of veto until 2026-11-20T13:00:00Z: INC-7",
		"unprotected: books/s1 has 2 of its 3 members on this pod",
	}, Decide(s).Steps[0].Notes)
}

// Empty lists are lists, and what is not set is null.
func TestShapeOfThePlan(t *testing.T) {
	s := threePods(t)
	noClaims(&s)
	data, err := json.Marshal(Decide(s))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"version": 1, "cluster": "prod/search", "phase": "Rolling",
		"budget": {"pods": {"limit": 1, "away": 0, "claimed": 0, "room": 1}, "zones": {"limit": 0, "away": 0}},
		"order": ["solr-2", "solr-0", "solr-1"],
		"steps": [{"pod": "solr-2", "uid": "u2", "unit": "", "action": "Restart", "prepare": "Handoff", "reason": "Outdated",
			"outsideBudget": false, "partition": null, "notes": []}],
		"holds": [
			{"pod": "solr-0", "rule": "pod-budget", "group": "", "reason": "2 of 3 pods would be unavailable, the limit is 1: solr-2 (chosen)", "unblocks": "solr-2 back"},
			{"pod": "solr-1", "rule": "pod-budget", "group": "", "reason": "2 of 3 pods would be unavailable, the limit is 1: solr-2 (chosen)", "unblocks": "solr-2 back"}],
		"retryAfterSeconds": 0,
		"forecast": {"waves": 3, "seconds": 180, "boundSeconds": 180}}`, string(data))

	data, err = json.Marshal(Decide(model.Snapshot{}))
	require.NoError(t, err)
	require.Contains(t, string(data), `"order":[],"steps":[],"holds":[{`)
}

func TestNothingIsKnownOfTheZeroSnapshot(t *testing.T) {
	p := Decide(model.Snapshot{Version: 1, Now: model.At(noon), Pools: []model.Pool{{Name: "p", Replicas: 1, Observed: true, Revision: "v2"}},
		Pods: []model.Pod{{Name: "p-0", UID: "u", Pool: "p", Phase: model.PodPhaseReady, Revision: "v1", Agent: true, Report: &model.Report{}}}})
	require.Empty(t, p.Steps)
	require.Equal(t, "p-0", p.Holds[len(p.Holds)-1].Pod)
}

// A pod that Kubernetes does not call Ready yet counts as unavailable, but it is live: all such
// pods at once would be more than may go. A pod that is not Ready in time costs nothing more, and
// its groups decide: one such pod goes before its turn.
func TestPodsThatComeBackServe(t *testing.T) {
	for since, rule := range map[time.Duration]model.Rule{
		5 * time.Second: model.RulePodBudget, 599 * time.Second: model.RulePodBudget, 600 * time.Second: model.RuleShardBudget,
	} {
		s := threePods(t)
		noClaims(&s)
		for i := range 2 {
			s.Pods[i].Phase, s.Pods[i].Since = model.PodPhaseStarted, model.At(noon.Add(-since))
		}
		plan := Decide(s)
		goes := cluster.Count(rule == model.RuleShardBudget)
		require.Len(t, plan.Steps, goes)
		held := 0
		for _, h := range plan.Holds {
			if h.Pod == "solr-0" || h.Pod == "solr-1" {
				held++
				require.Equal(t, rule, h.Rule, plan.Text())
			}
		}
		require.Equal(t, 2-goes, held)
		require.Equal(t, goes == 0, plan.RetryAfterSeconds > 0)
	}
}
