package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// replacing is a database of two pods of which one is claimed to be replaced. It has come up on its
// old volume, from a template that finds no node. There is a newer template now.
func replacing() (*step, model.Claim) {
	now := time.Unix(10_000, 0)
	claim := model.Claim{ID: "c", Pod: "s-1", UID: "1", Action: model.ActionReplace, Prepare: model.PrepareEvacuate, Reason: model.ReasonReplacement, Undo: []byte("u")}
	a := stepOn(Facts{}, now)
	s := &a.Snapshot
	s.Version, s.Now = model.Version, model.At(now)
	s.Cluster.Spec.Engine = model.Solr
	s.Cluster.Spec = s.Cluster.Spec.WithDefaults()
	s.Cluster.Window.Open, s.Cluster.Status.Initialized = true, true
	s.Cluster.Status.Claims = []model.Claim{claim}
	s.Health.Verdict = model.VerdictGreen
	s.Pools = []model.Pool{{Name: "s", Replicas: 2, Revision: "v3", Observed: true, Strategy: model.StrategyOnDelete, Management: model.ManagementParallel, Agents: true}}
	since := model.At(now.Add(-time.Hour))
	s.Pods = []model.Pod{
		{Name: "s-0", UID: "0", Pool: "s", Ordinal: 0, Revision: "v3", Agent: true, Phase: model.PodPhaseReady, Since: since,
			Report: &model.Report{UID: "0", Self: true, Fresh: true, Member: model.MembershipLive, Settled: true}},
		{Name: "s-1", UID: "1", Pool: "s", Ordinal: 1, Revision: "v2", Agent: true, Phase: model.PodPhasePending, Problem: model.ProblemUnschedulable, Since: since},
	}
	return a, claim
}

// A replacement that nobody can carry out makes room: for a correction at once, otherwise after the
// time for which a claim may be held.
func TestImpossibleReplacementIsGivenUp(t *testing.T) {
	serves := func(pod *model.Pod) {
		pod.Phase, pod.Problem, pod.Revision = model.PodPhaseReady, "", "v3"
		pod.Report = &model.Report{UID: "1", Self: true, Fresh: true, Member: model.MembershipLive, Settled: true}
	}
	emptied := model.At(time.Unix(9000, 0))
	for name, c := range map[string]struct {
		change func(a *step, claim *model.Claim)
		others bool // can empty it
		want   string
		later  bool
	}{
		"a template of meanwhile finds no node":       {func(*step, *model.Claim) {}, false, "a restart corrects it first", false},
		"that is so where others could empty it, too": {func(*step, *model.Claim) {}, true, "a restart corrects it first", false},
		"it never joins": {func(a *step, _ *model.Claim) {
			pod := &a.Snapshot.Pods[1]
			pod.Phase, pod.Problem = model.PodPhaseStarted, model.ProblemCrashLoop
		}, false, "a restart corrects it first", false},
		"its template is the newest": {func(a *step, _ *model.Claim) { a.Snapshot.Pods[1].Revision = "v3" }, false, "no agent runs in it that could empty it", true},
		"others can empty it":        {func(a *step, _ *model.Claim) { a.Snapshot.Pods[1].Revision = "v3" }, true, "", false},
		"it has come without an agent": {func(a *step, _ *model.Claim) {
			serves(&a.Snapshot.Pods[1])
			a.Snapshot.Pods[1].Agent, a.Snapshot.Pods[1].Report.Self = false, false
		}, false, "no agent runs in it that could empty it", true},
		"it has an agent": {func(a *step, _ *model.Claim) { serves(&a.Snapshot.Pods[1]) }, false, "", false},
		"no other pod has an agent": {func(a *step, _ *model.Claim) {
			serves(&a.Snapshot.Pods[1])
			a.Snapshot.Pods[0].Agent, a.Snapshot.Pods[0].Report.Self = false, false
		}, false, "no other pod has an agent that could say that nothing is left on it", true},
		"it starts": {func(a *step, _ *model.Claim) {
			serves(&a.Snapshot.Pods[1])
			a.Snapshot.Pods[1].Phase = model.PodPhaseStarted
		}, false, "", false},
		"a correction is held": {func(a *step, _ *model.Claim) { a.Snapshot.Cluster.Paused = true }, true, "", false},
		"it is written down as empty": {func(a *step, claim *model.Claim) {
			claim.EmptiedAt = &emptied
			a.Snapshot.Cluster.Status.Claims[0].EmptiedAt = &emptied
		}, false, "", false},
		"it is to be restarted": {func(_ *step, claim *model.Claim) { claim.Action = model.ActionRestart }, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			a, claim := replacing()
			c.change(a, &claim)
			a.Engine.EvacuatesOthers = c.others
			why, passes := a.hopeless(a.Snapshot, claim)
			require.Equal(t, c.want, why)
			require.Equal(t, c.later, passes)
			if c.want == "" {
				return
			}
			r := &attempt{}
			got, _ := a.noticeHere(claim, r, a.see(claim))
			require.Equal(t, c.want, got)
			require.Equal(t, c.later, r.giveUp == "", r.giveUp)
			a.now = a.now.Add(patience)
			a.noticeHere(claim, r, a.see(claim))
			require.Equal(t, c.later, r.giveUp == "", "not before its time is up")
			a.now = a.now.Add(1)
			a.noticeHere(claim, r, a.see(claim))
			require.Contains(t, r.giveUp, c.want)
		})
	}
}

// A pod whose agent appears late still has the full time of an evacuation.
func TestReplacementThatCanContinueIsNotHeld(t *testing.T) {
	a, claim := replacing()
	r := &attempt{}
	a.Snapshot.Pods[1].Revision = "v3"
	a.noticeHere(claim, r, a.see(claim))
	require.False(t, r.heldSince.IsZero())
	a.Snapshot.Pods[1].Phase, a.Snapshot.Pods[1].Problem = model.PodPhaseStarted, ""
	a.noticeHere(claim, r, a.see(claim))
	require.True(t, r.heldSince.IsZero())
}

// A pod that is recorded as empty is restarted first if nothing in it can empty it and a restart
// fixes that. If it starts after all, what was decided for the restart no longer counts.
func TestRestartFirst(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *step, claim *model.Claim)
		want   bool
	}{
		"its template finds no node, and there is a newer one": {func(*step, *model.Claim) {}, true},
		"its template is the newest":                           {func(a *step, _ *model.Claim) { a.Snapshot.Pods[1].Revision = "v3" }, false},
		"it can be given up":                                   {func(_ *step, claim *model.Claim) { claim.EmptiedAt = nil }, false},
		"another pod has its name":                             {func(a *step, _ *model.Claim) { a.Snapshot.Pods[1].UID = "2" }, false},
		"a correction is held":                                 {func(a *step, _ *model.Claim) { a.Snapshot.Cluster.Paused = true }, false},
		"it came without an agent": {func(a *step, _ *model.Claim) {
			a.Snapshot.Pods[1].Agent, a.Snapshot.Pods[1].Phase, a.Snapshot.Pods[1].Revision = false, model.PodPhaseReady, "v3"
		}, true},
		"it is below the partition": {func(a *step, _ *model.Claim) {
			a.Snapshot.Cluster.Spec.Update.RollingUpdate = model.RollingUpdateByPartition
			a.Snapshot.Pools[0].Strategy, a.Snapshot.Pools[0].Partition = model.StrategyRollingUpdate, 2
		}, false},
		"it is above the partition": {func(a *step, _ *model.Claim) {
			a.Snapshot.Cluster.Spec.Update.RollingUpdate = model.RollingUpdateByPartition
			a.Snapshot.Pools[0].Strategy, a.Snapshot.Pools[0].Partition = model.StrategyRollingUpdate, 1
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, claim := replacing()
			emptied := model.At(time.Unix(9000, 0))
			claim.EmptiedAt = &emptied
			c.change(a, &claim)
			a.Snapshot.Cluster.Status.Claims = []model.Claim{claim}
			require.Equal(t, c.want, a.restartsFirst(a.Snapshot, claim))
		})
	}

	a, claim := replacing()
	emptied := model.At(time.Unix(9000, 0))
	claim.EmptiedAt = &emptied
	a.Snapshot.Cluster.Status.Claims = []model.Claim{claim}
	r := &attempt{}
	restarting, _, _ := a.assess(claim, r)
	require.Equal(t, MoveObserve, next(restarting))
	r.known.Guard, r.observedAt = GuardKnownOpen, a.now
	restarting, _, _ = a.assess(claim, r)
	require.Equal(t, GuardKnownOpen, restarting.Known.Guard, "nothing has changed")
	pod := &a.Snapshot.Pods[1]
	pod.Phase, pod.Problem = model.PodPhaseReady, ""
	pod.Report = &model.Report{UID: "1", Self: true, Fresh: true, Member: model.MembershipLive, Settled: true}
	started, _, _ := a.assess(claim, r)
	require.Equal(t, MoveCloseGuard, next(started))
	r.known.Guard, r.known.VolumesFound = GuardUntouched, true
	started, _, _ = a.assess(claim, r)
	require.Equal(t, MoveDrain, next(started))
}

// Whatever other reasons for a restart the pod has: it came without an agent a moment ago, and
// might again.
func TestPodWithoutAgentIsNotRestartedAtOnce(t *testing.T) {
	a, claim := replacing()
	emptied := model.At(time.Unix(9000, 0))
	claim.EmptiedAt = &emptied
	pod := &a.Snapshot.Pods[1]
	pod.Agent, pod.Phase, pod.Problem = false, model.PodPhaseReady, ""
	pod.Report = &model.Report{UID: "1", Fresh: true, Member: model.MembershipLive, Settled: true} // as the other says
	a.Snapshot.Cluster.Spec.Update.Adopt = model.AdoptAllow
	a.Snapshot.Cluster.Status.Claims = []model.Claim{claim}
	require.Nil(t, holdOf(a.Snapshot, claim, true))
	pod.Since = model.At(a.now.Add(1 - policy.AdoptAgain))
	require.Equal(t, model.RuleApproval, holdOf(a.Snapshot, claim, true).Rule)
}
