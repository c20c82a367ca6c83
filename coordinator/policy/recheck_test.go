package policy

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// threePods has solr-0 to solr-2, a shard over all of them and one that
// solr-2 shares with solr-1; solr-2 is claimed.
func threePods(t testing.TB) model.Snapshot {
	t.Helper()
	text, err := os.ReadFile("../model/testdata/three_pods.yaml")
	require.NoError(t, err)
	return decodeYAML(t, text)
}

func TestRecheckLeavesOutTheOwnClaim(t *testing.T) {
	s := threePods(t)
	require.Equal(t, model.RuleClaimed, Decide(s).Holds[0].Rule)
	step, hold := Recheck(s, "solr-2")
	require.Nil(t, hold)
	require.Equal(t, &model.Step{Pod: "solr-2", UID: "u2", Action: model.ActionRestart, Prepare: model.PrepareHandoff, Reason: model.ReasonOutdated, Notes: []string{}}, step)
}

func TestRecheckCountsEverythingElse(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*model.Snapshot)
		want   model.Rule
	}{
		{"another claim", func(s *model.Snapshot) {
			s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, model.Claim{ID: "k2", Pod: "solr-0", UID: "u0"})
		}, model.RulePodBudget},
		{"another pod unavailable", func(s *model.Snapshot) { s.Pods[0].Phase = model.PodPhaseTerminating }, model.RulePodBudget},
		{"a member elsewhere lost", func(s *model.Snapshot) {
			s.Groups[1].Members[0] = model.Member{ID: "r1", Pod: "solr-1", State: model.MemberRecovering}
			s.Groups[1].Members[1].Leader = true
		}, model.RuleShardBudget},
		{"a pause", func(s *model.Snapshot) { s.Cluster.Paused = true }, model.RulePaused},
		{"a veto", func(s *model.Snapshot) { s.Pods[2].Report.Veto = "a switchover is under way" }, model.RuleVeto},
		{"a report from before", func(s *model.Snapshot) { s.Pods[2].Report.Fresh = false }, model.RuleStaleReport},
		{"no report", func(s *model.Snapshot) { s.Pods[2].Report = nil }, model.RuleNoReport},
		{"another pod of that name", func(s *model.Snapshot) { s.Pods[2].UID = "u2b" }, model.RuleNoReport},
		{"already going", func(s *model.Snapshot) { s.Pods[2].Phase = model.PodPhaseTerminating }, model.RuleTerminating},
		{"bad input", func(s *model.Snapshot) { s.Pods[1].UID = "u0" }, model.RuleBadInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threePods(t)
			c.change(&s)
			step, hold := Recheck(s, "solr-2")
			require.Nil(t, step)
			require.NotNil(t, hold)
			require.Equal(t, c.want, hold.Rule, hold.Reason)
			require.Equal(t, "solr-2", hold.Pod)
		})
	}
}

func TestRecheckOfAPodThatNoLongerShouldGo(t *testing.T) {
	s := threePods(t)
	s.Pods[2].Revision = "v2"
	step, hold := Recheck(s, "solr-2")
	require.Nil(t, step)
	require.Nil(t, hold)
	plan := Decide(s)
	require.Equal(t, model.ActionRestore, plan.Steps[0].Action)
	require.Equal(t, "solr-2", plan.Steps[0].Pod)
}

// A drain that is no longer needed is restored until the pod has gone; after that there is nothing
// to give up.
func TestUnneededDrainIsRestored(t *testing.T) {
	wanted := map[model.ClaimPhase]bool{
		"": false, model.PhaseClaimed: true, model.PhaseDraining: true, model.PhaseDrained: true, model.PhaseEmptied: true, model.PhaseOpened: true,
		model.PhaseGone: false, model.PhaseRejoined: false, model.PhaseRestoring: false, model.PhaseSettling: false,
	}
	for _, phase := range append(model.ClaimPhases(), "") {
		want, listed := wanted[phase]
		require.True(t, listed, "%s", phase)
		s := threePods(t)
		s.Pods[2].Revision = "v2"
		s.Cluster.Status.Claims[0].Phase = phase
		restored := false
		for _, step := range Decide(s).Steps {
			restored = restored || step.Action == model.ActionRestore && step.Pod == "solr-2"
		}
		require.Equal(t, want, restored, "%s", phase)
	}
}

func TestRecheckDoesNotCountItsOwnRestart(t *testing.T) {
	s := threePods(t)
	s.Fleet = model.Fleet{Restarts: 1, Max: 1}
	_, hold := Recheck(s, "solr-2")
	require.Nil(t, hold)
	s.Fleet.Restarts = 2
	_, hold = Recheck(s, "solr-2")
	require.Equal(t, model.RuleFleetFull, hold.Rule)
}

// What was to be moved off must be elsewhere when the pod is rechecked.
func TestEvacuationIsProvenBeforeTheDelete(t *testing.T) {
	s := threePods(t)
	s.Cluster.Spec.Drain.Data.Restart = model.DataLose
	s.Groups = s.Groups[1:]
	s.Groups[0].Members = s.Groups[0].Members[1:] // the only copy is on solr-2
	s.Groups[0].Members[0].Leader = true

	before := s
	before.Cluster.Status.Claims = nil
	require.Equal(t, model.PrepareEvacuate, Decide(before).Steps[0].Prepare, "it may go, after an evacuation")

	_, hold := Recheck(s, "solr-2")
	require.NotNil(t, hold)
	require.Equal(t, model.RuleSoleCopy, hold.Rule)

	s.Groups[0].Members[0].Pod = "solr-1"
	step, hold := Recheck(s, "solr-2")
	require.Nil(t, hold)
	require.Equal(t, model.PrepareEvacuate, step.Prepare)
}

func TestReturned(t *testing.T) {
	claim := func(s model.Snapshot) model.Claim { return s.Cluster.Status.Claims[0] }
	back := func(s *model.Snapshot) {
		p := &s.Pods[2]
		p.UID, p.Revision, p.Report.UID = "u2b", "v2", "u2b"
		p.Since = model.At(s.Now.Add(-time.Minute))
	}
	for _, c := range []struct {
		name    string
		change  func(*model.Snapshot)
		done    bool
		joined  bool
		failed  bool
		reason  string
		retries bool
	}{
		{name: "not gone yet", change: func(s *model.Snapshot) { s.Pods[2].UID, s.Pods[2].Phase = "u2", model.PodPhaseTerminating }, reason: "it has not gone yet: it is Terminating"},
		{name: "missing", change: func(s *model.Snapshot) {
			s.Pods[2] = model.Pod{Name: "solr-2", Pool: "solr", Ordinal: 2, Phase: model.PodPhaseMissing, Since: model.At(s.Now.Add(-time.Second))}
		}, reason: "the recreated pod has not been created"},
		{name: "missing for too long", change: func(s *model.Snapshot) {
			s.Pods[2] = model.Pod{Name: "solr-2", Pool: "solr", Ordinal: 2, Phase: model.PodPhaseMissing, Since: model.At(s.Now.Add(-time.Hour))}
		}, reason: "the recreated pod has not been created", failed: true},
		{name: "no report", change: func(s *model.Snapshot) { s.Pods[2].Report = nil }, reason: "the recreated pod is Ready and its agent has sent no report", retries: true},
		{name: "the report of the one before", change: func(s *model.Snapshot) { s.Pods[2].Report.UID = "u2" }, reason: "the recreated pod is Ready and its agent has sent no report", retries: true},
		{name: "starting", change: func(s *model.Snapshot) {
			s.Pods[2].Phase, s.Pods[2].Report.Member = model.PodPhaseStarted, model.MembershipNotLive
		}, reason: "the recreated pod is Started and not live in the database", retries: true},
		{name: "starting for too long", change: func(s *model.Snapshot) {
			s.Pods[2].Phase, s.Pods[2].Report.Member, s.Pods[2].Since = model.PodPhaseStarted, model.MembershipNotLive, model.At(s.Now.Add(-time.Hour))
		}, reason: "the recreated pod is Started and not live in the database", failed: true},
		{name: "bad image", change: func(s *model.Snapshot) {
			s.Pods[2].Phase, s.Pods[2].Problem, s.Pods[2].Report = model.PodPhaseNotStarted, model.ProblemImagePull, nil
		}, reason: "the recreated pod is NotStarted and its agent has sent no report: an image cannot be pulled", failed: true},
		{name: "live and not ready", change: func(s *model.Snapshot) { s.Pods[2].Phase = model.PodPhaseStarted }, joined: true, reason: "the recreated pod is live in the database and Started"},
		{name: "stale", change: func(s *model.Snapshot) { s.Pods[2].Report.Fresh = false }, joined: true, reason: "the report of the recreated pod is stale"},
		{name: "not settled", change: func(s *model.Snapshot) { s.Pods[2].Report.Settled = false }, joined: true, reason: "the recreated pod is not settled"},
		{name: "own member recovers", change: func(s *model.Snapshot) { s.Groups[0].Members[2].State = model.MemberRecovering }, joined: true, reason: "books/s1 has 2 Active members, needs 3 as before"},
		{name: "another member recovers", change: func(s *model.Snapshot) { s.Groups[1].Members[0].State = model.MemberRecovering }, joined: true, reason: "books/s2 has 1 Active members, needs 2 as before"},
		{name: "another member broke meanwhile, and nobody waits for it", change: func(s *model.Snapshot) { s.Groups[1].Members[0].State = model.MemberDown }, done: true, joined: true},
		{name: "own member is down", change: func(s *model.Snapshot) { s.Groups[0].Members[2].State = model.MemberDown }, joined: true, reason: "books/s1 has 2 Active members, needs 3 as before"},
		{name: "own member was down before", change: func(s *model.Snapshot) {
			s.Groups[0].Members[2].State = model.MemberDown
			s.Cluster.Status.Claims[0].Groups = map[string]int32{"books/s1": 2}
			s.Cluster.Status.Claims[0].Broken = map[string]int32{"books/s1": 1}
		}, done: true, joined: true},
		{name: "own member is down, and nobody could tell of it before", change: func(s *model.Snapshot) {
			s.Groups[0].Members[2].State, s.Cluster.Status.Claims[0].Unseen = model.MemberDown, true
		}, done: true, joined: true},
		{name: "own member recovers, and nobody could tell of it before", change: func(s *model.Snapshot) {
			s.Groups[0].Members[2].State, s.Cluster.Status.Claims[0].Unseen = model.MemberRecovering, true
		}, joined: true, reason: "books/s1 has 2 Active members, needs 3 as before"},
		{name: "own member was down before, and another broke meanwhile", change: func(s *model.Snapshot) {
			s.Groups[0].Members[2].State, s.Groups[0].Members[1].State = model.MemberDown, model.MemberDown
			s.Cluster.Status.Claims[0].Groups = map[string]int32{"books/s1": 2}
			s.Cluster.Status.Claims[0].Broken = map[string]int32{"books/s1": 1}
		}, done: true, joined: true},
		{name: "another member was down before and is not, and the own one does not come back", change: func(s *model.Snapshot) {
			s.Groups[0].Members[2].State = model.MemberDown
			s.Cluster.Status.Claims[0].Groups = map[string]int32{"books/s1": 2}
		}, joined: true, reason: "books/s1 has 1 Active members, needs 2 as before"},
		{name: "another pod is unavailable", change: func(s *model.Snapshot) {
			s.Pods[1].Phase = model.PodPhaseTerminating
			s.Groups[1].Members[0].State = model.MemberDown
		}, done: true, joined: true},
		{name: "was not full before", change: func(s *model.Snapshot) {
			s.Groups[1].Members[0].State = model.MemberDown
			s.Cluster.Status.Claims[0].Groups = map[string]int32{"books/s2": 1}
		}, done: true, joined: true},
		{name: "a group vanished", change: func(s *model.Snapshot) {
			s.Groups = s.Groups[1:]
			s.Cluster.Status.Claims[0].Groups = map[string]int32{"books/s1": 3}
		}, done: true, joined: true},
		{name: "soaking", change: func(s *model.Snapshot) { s.Cluster.Spec.Policy.SoakSeconds = 90 }, joined: true, reason: "the recreated pod soaks for 30 s more", retries: true},
		{name: "soaked", change: func(s *model.Snapshot) { s.Cluster.Spec.Policy.SoakSeconds = 60 }, done: true, joined: true},
		{name: "back", change: func(*model.Snapshot) {}, done: true, joined: true},
		{name: "was to bring an agent and did not", change: func(s *model.Snapshot) {
			s.Cluster.Status.Claims[0].Prepare = model.PrepareNone
			s.Pods[2].Agent = false
			s.Pods[2].Report.Self = false
		}, done: true, joined: true},
		{name: "was to bring an agent, and nobody speaks for it", change: func(s *model.Snapshot) {
			s.Cluster.Status.Claims[0].Prepare = model.PrepareNone
			s.Pods[2].Agent, s.Pods[2].Report = false, nil
		}, reason: "the recreated pod has no agent, and no majority of the other agents reports on it", retries: true},
		{name: "had an agent and came back without", change: func(s *model.Snapshot) {
			s.Cluster.Status.Claims[0].Prepare = model.PrepareHandoff
			s.Pods[2].Agent = false
			s.Pods[2].Report.Self = false
		}, done: true, joined: true},
		{name: "removed", change: func(s *model.Snapshot) {
			s.Pods = s.Pods[:2]
			s.Pools[0].Replicas = 2
			s.Cluster.Status.Claims[0].Action = model.ActionRemove
		}, done: true, joined: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := threePods(t)
			back(&s)
			c.change(&s)
			r := Returned(s, claim(s))
			require.Equal(t, c.reason, r.Why.Reason)
			require.Equal(t, c.done, r.Done)
			require.Equal(t, c.joined, r.Joined)
			require.Equal(t, c.failed, r.Failed)
			require.Equal(t, c.retries, r.RetryAfterSeconds > 0, "%d", r.RetryAfterSeconds)
			if !c.done {
				require.Equal(t, "solr-2", r.Why.Pod)
				require.NotEmpty(t, r.Why.Unblocks)
			}
		})
	}
}

// The others wait for its claim now, and it waits only for them.
func TestRecheckOfAPodFreedBeforeABrokenCopy(t *testing.T) {
	s := scripted(t, "partition_broken_copy_below_a_higher_rank")
	s.Cluster.Status.Claims = []model.Claim{{ID: "k1", Pod: "solr-1", UID: "u1", Action: model.ActionLowerPartition, Phase: model.PhaseDrained, To: "v2", BeforeTurn: true}}
	require.Equal(t, model.RuleClaimed, Decide(s).Holds[2].Rule)
	step, hold := Recheck(s, "solr-1")
	require.Nil(t, hold)
	require.Equal(t, model.ActionLowerPartition, step.Action)

	s.Groups[0].Members[0].State = model.MemberActive
	_, hold = Recheck(s, "solr-1")
	require.Equal(t, model.RuleRankOrder, hold.Rule, "no copy is broken any more")
}

// A pod that was claimed while it was unavailable had not reported its kind. When it is back it
// waits for its turn like any other, even if it still recovers. A pod that was claimed before its
// turn does not.
func TestRecheckOfAPodClaimedInOrder(t *testing.T) {
	s := scripted(t, "broken_copy_of_a_higher_rank")
	chosen := Decide(s).Steps[0]
	require.True(t, chosen.BeforeTurn)
	s.Cluster.Status.LastProgress = &s.Now
	for i := range s.Pods {
		if s.Pods[i].Name == chosen.Pod {
			s.Pods[i].Report.Settled = false
		}
	}
	claim := model.Claim{ID: "k1", Pod: chosen.Pod, UID: chosen.UID, Action: chosen.Action, Reason: chosen.Reason, Phase: model.PhaseDrained, To: "v2"}
	s.Cluster.Status.Claims = []model.Claim{claim}
	_, hold := Recheck(s, chosen.Pod)
	require.NotNil(t, hold)
	require.Equal(t, model.RuleRankOrder, hold.Rule)

	claim.BeforeTurn = true
	s.Cluster.Status.Claims = []model.Claim{claim}
	step, hold := Recheck(s, chosen.Pod)
	require.Nil(t, hold)
	require.True(t, step.BeforeTurn)
}

// Pods of an OrderedReady pool that go with the correction of one that the partition frees after
// them wait neither for it nor for each other, because its controller creates none of them before
// it is Ready. They do wait for a lower one that is unavailable, and for one that nobody corrects.
func TestRecheckOfPodsOfACorrection(t *testing.T) {
	s := scripted(t, "partition_ordered_ready_broken_below_two")
	at := map[string]int{}
	for i, pod := range s.Pods {
		at[pod.Name] = i
	}
	for _, step := range Decide(s).Steps {
		s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, model.Claim{ID: step.UID, Pod: step.Pod, UID: step.UID, Action: step.Action,
			Prepare: step.Prepare, Reason: step.Reason, Phase: model.PhaseDrained, To: "v2"})
	}
	require.Len(t, s.Cluster.Status.Claims, 3)
	held := func(pod string) model.Rule {
		step, hold := Recheck(s, pod)
		require.NotEqual(t, step == nil, hold == nil)
		if hold == nil {
			return ""
		}
		return hold.Rule
	}
	for _, pod := range []string{"db-5", "db-4"} {
		require.Empty(t, held(pod))
		below := s.Pods[at["db-2"]]
		s.Pods[at["db-2"]].Phase = model.PodPhasePending
		require.Equal(t, model.RuleOrderedReady, held(pod), "a lower one is unavailable")
		s.Pods[at["db-2"]] = below
		claims := s.Cluster.Status.Claims
		s.Cluster.Status.Claims = claims[:2]
		require.Equal(t, model.RuleOrderedReady, held(pod), "nobody corrects what is broken")
		s.Cluster.Status.Claims = claims
		broken := s.Pods[at["db-3"]]
		s.Pods[at["db-3"]].Phase, s.Pods[at["db-3"]].Problem, s.Pods[at["db-3"]].Since = model.PodPhaseStarted, "", s.Now
		s.Pods[at["db-3"]].Report = &model.Report{UID: broken.UID, Self: true, Fresh: true, Member: model.MembershipNotLive}
		require.Equal(t, model.RuleOrderedReady, held(pod), "it is not broken any more, and may come back")
		s.Pods[at["db-3"]] = broken
		s.Pods[at[pod]] = model.Pod{Name: pod, Pool: "db", Ordinal: s.Pods[at[pod]].Ordinal, Phase: model.PodPhaseMissing, Agent: true}
	}
	require.Empty(t, held("db-3"))
}
