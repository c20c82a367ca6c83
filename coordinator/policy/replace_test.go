package policy

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// scripted returns the snapshot of one script.
func scripted(t *testing.T, name string) model.Snapshot {
	t.Helper()
	text, _ := readGolden(t, "testdata/"+name+".txt")
	return decodeYAML(t, text)
}

// TestEveryFoundationDBSentenceHasAScript guards against scripts being lost.
func TestEveryFoundationDBSentenceHasAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/fdb_seed_*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 77)
}

// A plan says when the next pod will have been failing for too long, even if no pod is held.
func TestReplacementsWakeByTheClock(t *testing.T) {
	for name, want := range map[string]int64{
		"fdb_seed_failed_7200":                 1, // strictly longer, so not at once
		"fdb_seed_taint_maintenance":           1,
		"fdb_seed_taint_each_by_itself":        3600 + 1800 - 60 + 1,
		"fdb_seed_failed_off":                  0,
		"fdb_seed_taint_off":                   0,
		"fdb_seed_exempt_all":                  0,
		"fdb_seed_failed_unavailable_database": 0,
	} {
		s := scripted(t, name)
		require.Equal(t, want, Decide(s).RetryAfterSeconds, name)
		if want == 0 {
			continue
		}
		had := len(Decide(s).Steps)
		s.Now = model.At(s.Now.Add(time.Duration(want) * time.Second))
		require.Greater(t, len(Decide(s).Steps), had, "%s, when the time has come", name)
	}
}

// TestAnIgnoredTaintIsNeverDue, not even in the far future.
func TestAnIgnoredTaintIsNeverDue(t *testing.T) {
	s := scripted(t, "fdb_seed_taint_each_by_itself")
	s.Nodes[0].Taints = s.Nodes[0].Taints[:1]
	require.Zero(t, Decide(s).RetryAfterSeconds)
	s.Nodes[0].Taints[0].Since = model.At(s.Now.AddDate(-20, 0, 0))
	require.Empty(t, Decide(s).Order)
}

// A replacement that has begun is not given up because its reason is gone.
func TestAClaimThatReplacesIsAMark(t *testing.T) {
	s := scripted(t, "fdb_seed_condition_taint_removed_before")
	require.Empty(t, Decide(s).Order)
	claim := model.Claim{ID: "k", Pod: "fdb-0", UID: "f0", Action: model.ActionReplace, Reason: model.ReasonReplacement, Prepare: model.PrepareEvacuate, Phase: model.PhaseDraining}
	s.Cluster.Status.Claims = []model.Claim{claim}
	require.Empty(t, Decide(s).Steps, "nothing is undone")
	step, hold := Recheck(s, "fdb-0")
	require.Nil(t, hold)
	require.Equal(t, model.ActionReplace, step.Action)

	s.Cluster.Status.Claims[0].UID = "that of another pod"
	require.Empty(t, Decide(s).Order)
}

// An acknowledged evacuation is no longer in flight.
func TestAnAcknowledgedEvacuationMakesRoom(t *testing.T) {
	for _, phase := range []model.ClaimPhase{model.PhaseClaimed, model.PhaseDraining, model.PhaseDrained, model.PhaseEmptied, model.PhaseOpened, model.PhaseRestoring} {
		s := scripted(t, "fdb_seed_misconfigured_beside_a_claim")
		s.Cluster.Status.Claims[0].Phase = phase
		empty := phase == model.PhaseDrained || phase == model.PhaseEmptied || phase == model.PhaseOpened
		require.Equal(t, empty, len(Decide(s).Steps) == 1, "%s", phase)

		// What was once seen empty stays so, even if the recreated pod has its volume.
		at := s.Now
		s.Cluster.Status.Claims[0].EmptiedAt = &at
		require.Len(t, Decide(s).Steps, 1, "%s", phase)
	}
}

// The claim is all that is left of the pod.
func TestAReplacementOfAnUnseenPodCounts(t *testing.T) {
	s := scripted(t, "fdb_seed_misconfigured_beside_a_claim")
	s.Cluster.Status.Claims[0].Pod = "fdb-7"
	p := Decide(s)
	require.Empty(t, p.Steps)
	require.Contains(t, p.Text(), "1 pod is being replaced or removed and not yet excluded (fdb-7)")
	s.Cluster.Status.Claims[0].Phase = model.PhaseGone
	require.Len(t, Decide(s).Steps, 1)
}

// TestAnOverrideOfZoneUnknownLeavesTheLimit of zones in force.
func TestAnOverrideOfZoneUnknownLeavesTheLimit(t *testing.T) {
	s := scripted(t, "fdb_seed_fault_domains_unknown")
	s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleZoneUnknown, Pods: []string{"fdb-0"}, Reason: "new rack", Expires: model.At(s.Now.Add(time.Hour))}}
	require.Len(t, Decide(s).Steps, 2)
	one := int32(1)
	s.Cluster.Spec.Replacement.MaxConcurrentFailed = &one
	p := Decide(s)
	require.Len(t, p.Steps, 1)
	require.Equal(t, model.RuleZoneBudget, p.Holds[len(p.Holds)-1].Rule)
}

// A person handed the pool to its controller, whatever the update strategy.
func TestForceIsNoReplacement(t *testing.T) {
	s := scripted(t, "fdb_seed_strategy_replace")
	for i := range s.Pools {
		s.Pools[i].Strategy, s.Pools[i].Force = model.StrategyRollingUpdate, true
	}
	require.Empty(t, Replacements(s))
	s.Pods[0].MustReplace = []string{"volume"}
	require.Equal(t, []string{"storage-0"}, Replacements(s))
}

func TestAReplacementSaysWhy(t *testing.T) {
	for name, want := range map[string]string{
		"fdb_seed_failed_7201":          "replaced: PodFailing for 7201 s",
		"fdb_seed_replacement_marked":   "replaced: marked",
		"fdb_seed_misconfigured_all":    "replaced: volume changed",
		"fdb_seed_strategy_replace":     "replaced: outdated, and replacement.updateStrategy is Replace",
		"fdb_seed_taint_maintenance":    "replaced: NodeTaintReplacing for 1801 s",
		"fdb_seed_taint_without_a_time": "replaced: NodeTaintReplacing for 1801 s",
	} {
		require.Equal(t, []string{want}, Decide(scripted(t, name)).Steps[0].Notes, name)
	}
}

// TestTheLongestFailureIsNamed, whatever the order of the conditions.
func TestTheLongestFailureIsNamed(t *testing.T) {
	s := scripted(t, "fdb_seed_failed_7201")
	long := model.At(s.Now.Add(-3 * time.Hour))
	for _, list := range [][]model.PodCondition{
		{{Type: model.ConditionPodFailing, Since: long}, {Type: model.ConditionMissingProcesses, Since: long}, {Type: model.ConditionPodPending, Since: model.At(s.Now.Add(-2*time.Hour - time.Second))}},
		{{Type: model.ConditionPodPending, Since: model.At(s.Now.Add(-2*time.Hour - time.Second))}, {Type: model.ConditionMissingProcesses, Since: long}, {Type: model.ConditionPodFailing, Since: long}},
	} {
		s.Pods[0].Conditions = list
		require.Equal(t, []string{"replaced: MissingProcesses for 10800 s"}, Decide(s).Steps[0].Notes)
	}
}

// No pod could say what would be lost.
func TestNoPodIsReplacedWhenNoneIsLive(t *testing.T) {
	s := scripted(t, "fdb_seed_failed_7201")
	s.Cluster.Spec.Policy.Health = model.LeastAny
	s.Groups = nil
	require.Len(t, Decide(s).Steps, 1)
	for i := range s.Pods {
		s.Pods[i].Report.Member = model.MembershipNotLive
	}
	p := Decide(s)
	require.Empty(t, p.Steps)
	require.Equal(t, model.RuleSoleCopy, p.Holds[len(p.Holds)-1].Rule)
}

// TestImpossibleReplacementIsHeld, and no override changes that.
func TestImpossibleReplacementIsHeld(t *testing.T) {
	s := scripted(t, "fdb_seed_misconfigured_all")
	s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleVeto, Pods: []string{"*"}, Reason: "now", Expires: model.At(s.Now.Add(time.Hour))}}
	for _, name := range Replacements(s) {
		for i := range s.Pods {
			if s.Pods[i].Name == name {
				s.Pods[i].Refused = model.RuleVeto
			}
		}
	}
	require.Empty(t, model.Validate(&s))
	p := Decide(s)
	require.Empty(t, p.Steps)
	require.Len(t, p.Holds, 3)
	for _, h := range p.Holds {
		require.Equal(t, model.RuleVeto, h.Rule)
	}
	require.Equal(t, "it is to be replaced (volume changed), and no agent of its own runs that could empty it, or none elsewhere that could say that it is empty", p.Holds[0].Reason)
}

// TestReplacementsAreThoseOfThePlan, and the generator makes all kinds.
func TestReplacementsAreThoseOfThePlan(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(max(*snapshots, 5_000)) {
		s := newGenerator(seed).snapshot()
		if len(model.Validate(&s)) > 0 {
			continue
		}
		d := newDecision(&s, "", false)
		var want []string
		for i := range d.order {
			c := &d.order[i]
			if c.reason != model.ReasonReplacement {
				continue
			}
			want = append(want, c.Name)
			room := true
			for _, rule := range []model.Rule{model.RuleZoneUnknown, model.RuleZoneBudget, model.RulePodBudget} {
				if d.replaceLimit(rule, c) != nil {
					room = false
					seen["held by "+string(rule)]++
				}
			}
			seen["room"] += cluster.Count(room)
			seen["failed "+c.replace.failed.Condition]++
			seen["marked"] += cluster.Count(c.replace.marked)
			seen["forced"] += cluster.Count(c.replace.forced)
			seen["outside"] += cluster.Count(c.outside)
		}
		for _, step := range Decide(s).Steps {
			seen["step"] += cluster.Count(step.Action == model.ActionReplace)
		}
		require.ElementsMatch(t, want, Replacements(s), "seed %d", seed)
	}
	t.Logf("%v", seen)
	for _, what := range []string{
		"step", "marked", "forced", "outside", "room", "held by pod-budget", "held by zone-budget", "held by zone-unknown",
		"failed ", "failed " + model.ConditionMissingPod, "failed " + model.ConditionPodFailing, "failed " + model.ConditionNodeTaintReplacing,
	} {
		require.NotZero(t, seen[what], "the generator makes none: %s", what)
	}
}
