package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// twoEmptied has four pods without copies of their own. solr-2 and solr-3 are replaced, and
// recorded as empty, although only one may be unavailable.
func twoEmptied(t testing.TB) model.Snapshot {
	t.Helper()
	return decodeYAML(t, []byte(`
version: 1
now: 2026-11-20T12:00:00Z
cluster:
  namespace: prod
  name: search
  spec: {engine: Solr, policy: {maxUnavailable: 1}}
  status:
    claims:
      - {id: k1, pod: solr-2, uid: u2, action: Replace, reason: Replacement, prepare: Evacuate, phase: Emptied, startedAt: 2026-11-20T11:00:00Z, emptiedAt: 2026-11-20T11:30:00Z}
      - {id: k2, pod: solr-3, uid: u3, action: Replace, reason: Replacement, prepare: Evacuate, phase: Emptied, startedAt: 2026-11-20T11:01:00Z, emptiedAt: 2026-11-20T11:20:00Z}
pools:
  - {name: solr, replicas: 4, revision: v2}
pods:
  - {name: solr-0, uid: u0, pool: solr, ordinal: 0, revision: v2, report: {uid: u0}}
  - {name: solr-1, uid: u1, pool: solr, ordinal: 1, revision: v2, report: {uid: u1}}
  - {name: solr-2, uid: u2, pool: solr, ordinal: 2, revision: v1, report: {uid: u2, drain: Drained}}
  - {name: solr-3, uid: u3, pool: solr, ordinal: 3, revision: v1, report: {uid: u3, drain: Drained}}
groups:
  - id: books/s1
    members:
      - {id: r0, pod: solr-0, leader: true}
      - {id: r1, pod: solr-1}
  - id: coordinating
    kind: Role
    minAvailable: 1
    needsLeader: false
    members:
      - {id: c2, pod: solr-2}
      - {id: c3, pod: solr-3}
`))
}

// Two claims that can no longer be given up do not wait for each other: one goes, and the other
// when that is back, even if they share a group that needs one of them.
func TestEmptiedPodsDoNotHoldEachOther(t *testing.T) {
	s := twoEmptied(t)
	step, hold := Recheck(s, "solr-2")
	require.Nil(t, hold)
	require.Equal(t, model.ActionReplace, step.Action)
	step, hold = Recheck(s, "solr-3")
	require.Nil(t, step)
	require.Equal(t, model.RuleRole, hold.Rule)

	s.Pods[2].Phase = model.PodPhaseTerminating
	_, hold = Recheck(s, "solr-3")
	require.Equal(t, model.RuleRole, hold.Rule, "the first is on its way")
	s.Cluster.Status.Claims = s.Cluster.Status.Claims[1:]
	s.Pods[2].Phase = model.PodPhaseReady
	step, hold = Recheck(s, "solr-3")
	require.Nil(t, hold)
	require.NotNil(t, step)

	s = twoEmptied(t)
	s.Pods[3].Phase = model.PodPhaseTerminating // the second has gone by itself
	_, hold = Recheck(s, "solr-2")
	require.Equal(t, model.RuleRole, hold.Rule)
	s = twoEmptied(t)
	s.Cluster.Status.Claims[1].EmptiedAt = nil // the second can be given up, and is counted
	_, hold = Recheck(s, "solr-2")
	require.Equal(t, model.RuleRole, hold.Rule)
}

// An emptied pod may go whatever is limited, ordered or handed to it in the meantime. For a pod
// that is not recorded as empty the rule holds. What people or the database object to holds both.
func TestAnEmptiedPodIsNotHeldByWhatRations(t *testing.T) {
	claim := func(id, pod, uid string) model.Claim {
		return model.Claim{ID: id, Pod: pod, UID: uid, Action: model.ActionRestart, Prepare: model.PrepareHandoff, Phase: model.PhaseDrained}
	}
	for name, c := range map[string]struct {
		change func(*model.Snapshot)
		rule   model.Rule
		spared bool
	}{
		"the limit of pods is used up": {func(s *model.Snapshot) { s.Pods[0].Phase = model.PodPhaseTerminating }, model.RulePodBudget, true},
		"another is claimed": {func(s *model.Snapshot) {
			s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, claim("k3", "solr-1", "u1"))
		}, model.RulePodBudget, true},
		"the fleet is full":           {func(s *model.Snapshot) { s.Fleet = model.Fleet{Restarts: 5, Max: 1} }, model.RuleFleetFull, true},
		"it becomes the overseer":     {func(s *model.Snapshot) { s.Pods[2].Report.Last, s.Pods[0].Revision = true, "v1" }, model.RuleLeaderLast, true},
		"an approval for the leader":  {func(s *model.Snapshot) { s.Pods[2].Report.Last, s.Cluster.Spec.Update.ApproveLeader = true, true }, model.RuleApproval, true},
		"a lower rank is out of date": {func(s *model.Snapshot) { s.Pods[2].Report.Rank, s.Pods[0].Revision = 1, "v1" }, model.RuleRankOrder, true},
		"the pool has an order": {func(s *model.Snapshot) {
			s.Pools[0].Management, s.Pods[0].Phase = model.ManagementOrderedReady, model.PodPhaseTerminating
		}, model.RuleOrderedReady, true},
		"copies are missing": {func(s *model.Snapshot) { s.Health.Verdict = model.VerdictYellow }, model.RuleHealth, true},
		"a pod that failed to come back": {func(s *model.Snapshot) {
			s.Pods[0].Phase, s.Pods[0].Problem = model.PodPhaseFailed, model.ProblemCrashLoop
		}, model.RuleRolloutHalted, true},
		"zones are limited": {func(s *model.Snapshot) {
			s.Cluster.Spec.Policy.MaxZonesUnavailable = new(model.Count(1))
			s.Pods[0].Phase, s.Pods[0].Zone, s.Pods[2].Zone = model.PodPhaseTerminating, "a", "b"
		}, model.RuleZoneBudget, true},
		"a zone is not known":        {func(s *model.Snapshot) { s.Cluster.Spec.Policy.MaxZonesUnavailable = new(model.Count(1)) }, model.RuleZoneUnknown, true},
		"the database does not work": {func(s *model.Snapshot) { s.Health.Verdict = model.VerdictRed }, model.RuleHealth, false},
		"nobody knows how it is":     {func(s *model.Snapshot) { s.Health.Verdict = model.VerdictUnknown }, model.RuleHealth, false},
		"a pause":                    {func(s *model.Snapshot) { s.Cluster.Paused = true }, model.RulePaused, false},
		"the engine's veto":          {func(s *model.Snapshot) { s.Pods[2].Report.Veto = "the overseer is unknown" }, model.RuleVeto, false},
		"witnesses disagree":         {func(s *model.Snapshot) { s.Health.Disagree = "about a leader" }, model.RuleViewSplit, false},
		"somebody else's budget":     {func(s *model.Snapshot) { s.Pods[2].Refused = model.RuleForeignBudget }, model.RuleForeignBudget, false},
		"data has come back to it": {func(s *model.Snapshot) {
			s.Groups[0].Members = []model.Member{{ID: "r2", Pod: "solr-2", State: model.MemberActive, Eligible: true, Leader: true}, {ID: "r0", Pod: "solr-0", State: model.MemberRecovering, Eligible: true}}
		}, model.RuleShardBudget, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoEmptied(t)
			s.Cluster.Status.Claims = s.Cluster.Status.Claims[:1]
			s.Cluster.Status.LastDeparture = new(model.At(s.Now.Add(-time.Hour)))
			c.change(&s)
			_, hold := Recheck(s, "solr-2")
			if c.spared {
				require.Nil(t, hold)
			} else {
				require.NotNil(t, hold)
				require.Equal(t, c.rule, hold.Rule)
			}
			s.Cluster.Status.Claims[0].EmptiedAt = nil
			_, hold = Recheck(s, "solr-2")
			require.NotNil(t, hold)
			require.Equal(t, c.rule, hold.Rule)
		})
	}
}
