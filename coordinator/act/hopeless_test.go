package act

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// replacing is a database of two pods of which one is claimed to be replaced. It has come
// up on its old volume, from a template that finds no node; by now there is another.
func replacing() (Situation, policy.Claim) {
	now := time.Unix(10_000, 0)
	claim := policy.Claim{ID: "c", Pod: "s-1", UID: "1", Action: policy.Replace, Prepare: policy.PrepareEvacuate, Reason: policy.ReasonReplacement, Undo: []byte("u")}
	at := Situation{Now: now, Cluster: &v1alpha1.DatabaseCluster{}}
	s := &at.Snapshot
	s.Version, s.Now = policy.Version, policy.At(now)
	s.Cluster.Spec.Engine = policy.Solr
	s.Cluster.Spec = s.Cluster.Spec.WithDefaults()
	s.Cluster.Window.Open, s.Cluster.Status.Initialized = true, true
	s.Cluster.Status.Claims = []policy.Claim{claim}
	s.Health.Verdict = policy.Green
	s.Pools = []policy.Pool{{Name: "s", Replicas: 2, Revision: "v3", Observed: true, Strategy: policy.OnDelete, Management: policy.Parallel, Agents: true}}
	since := policy.At(now.Add(-time.Hour))
	s.Pods = []policy.Pod{
		{Name: "s-0", UID: "0", Pool: "s", Ordinal: 0, Revision: "v3", Agent: true, Phase: policy.Ready, Since: since,
			Report: &policy.Report{UID: "0", Self: true, Fresh: true, Member: policy.Live, Settled: true}},
		{Name: "s-1", UID: "1", Pool: "s", Ordinal: 1, Revision: "v2", Agent: true, Phase: policy.Pending, Problem: policy.Unschedulable, Since: since},
	}
	return at, claim
}

// A replacement that nobody can carry out makes room for what can: for a correction at
// once, and else after the time for which a claim may be held.
func TestAReplacementThatNobodyCanCarryOutIsGivenUp(t *testing.T) {
	serves := func(pod *policy.Pod) {
		pod.Phase, pod.Problem, pod.Revision = policy.Ready, "", "v3"
		pod.Report = &policy.Report{UID: "1", Self: true, Fresh: true, Member: policy.Live, Settled: true}
	}
	emptied := policy.At(time.Unix(9000, 0))
	for name, c := range map[string]struct {
		change func(at *Situation, claim *policy.Claim)
		others bool // can empty it
		want   string
		later  bool
	}{
		"a template of meanwhile finds no node":       {func(*Situation, *policy.Claim) {}, false, "a restart corrects it first", false},
		"that is so where others could empty it, too": {func(*Situation, *policy.Claim) {}, true, "a restart corrects it first", false},
		"it never joins": {func(at *Situation, _ *policy.Claim) {
			pod := &at.Snapshot.Pods[1]
			pod.Phase, pod.Problem = policy.Started, policy.CrashLoop
		}, false, "a restart corrects it first", false},
		"its template is the newest": {func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods[1].Revision = "v3" }, false, "no agent runs in it that could empty it", true},
		"others can empty it":        {func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods[1].Revision = "v3" }, true, "", false},
		"it has come without an agent": {func(at *Situation, _ *policy.Claim) {
			serves(&at.Snapshot.Pods[1])
			at.Snapshot.Pods[1].Agent, at.Snapshot.Pods[1].Report.Self = false, false
		}, false, "no agent runs in it that could empty it", true},
		"it has an agent": {func(at *Situation, _ *policy.Claim) { serves(&at.Snapshot.Pods[1]) }, false, "", false},
		"no other pod has an agent": {func(at *Situation, _ *policy.Claim) {
			serves(&at.Snapshot.Pods[1])
			at.Snapshot.Pods[0].Agent, at.Snapshot.Pods[0].Report.Self = false, false
		}, false, "no other pod has an agent that could say that nothing is left on it", true},
		"it starts": {func(at *Situation, _ *policy.Claim) {
			serves(&at.Snapshot.Pods[1])
			at.Snapshot.Pods[1].Phase = policy.Started
		}, false, "", false},
		"a correction is held": {func(at *Situation, _ *policy.Claim) { at.Snapshot.Cluster.Paused = true }, true, "", false},
		"it is written down as empty": {func(at *Situation, claim *policy.Claim) {
			claim.EmptiedAt = &emptied
			at.Snapshot.Cluster.Status.Claims[0].EmptiedAt = &emptied
		}, false, "", false},
		"it is to be restarted": {func(_ *Situation, claim *policy.Claim) { claim.Action = policy.Restart }, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			at, claim := replacing()
			c.change(&at, &claim)
			a := &Actor{options: Options{EvacuatesOthers: c.others}}
			why, passes := a.hopeless(at.Snapshot, claim)
			require.Equal(t, c.want, why)
			require.Equal(t, c.later, passes)
			if c.want == "" {
				return
			}
			r := &run{}
			require.Equal(t, c.want, a.lookAhead(at, claim, r))
			require.Equal(t, c.later, r.giveUp == "", r.giveUp)
			at.Now = at.Now.Add(patience)
			a.lookAhead(at, claim, r)
			require.Equal(t, c.later, r.giveUp == "", "not before its time is up")
			at.Now = at.Now.Add(1)
			a.lookAhead(at, claim, r)
			require.Contains(t, r.giveUp, c.want)
		})
	}
}

// A pod whose agent has come after all has all the time of an evacuation.
func TestAReplacementThatCanGoOnIsNotHeldAgainst(t *testing.T) {
	at, claim := replacing()
	a, r := &Actor{}, &run{}
	at.Snapshot.Pods[1].Revision = "v3"
	a.lookAhead(at, claim, r)
	require.False(t, r.heldSince.IsZero())
	at.Snapshot.Pods[1].Phase, at.Snapshot.Pods[1].Problem = policy.Started, ""
	a.lookAhead(at, claim, r)
	require.True(t, r.heldSince.IsZero())
}
