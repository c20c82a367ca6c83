package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod that is claimed for a restart, and then is to be replaced, does not go under that claim.
// Nor does a pod go for good under the claim of a replacement.
func TestRestartIsNoReplacement(t *testing.T) {
	s := threePods(time.Unix(10_000, 0))
	pod, at := podNamed(s, "s-2"), s.Now
	claim := model.Claim{ID: "c", Pod: "s-2", UID: pod.UID, Action: model.ActionRestart, Prepare: model.PrepareHandoff, Phase: model.PhaseDrained}
	judged := func(change func(*model.Claim)) going {
		c := claim
		change(&c)
		s.Cluster.Status.Claims = []model.Claim{c}
		return judgeGoing(s, c)
	}
	require.True(t, judged(func(*model.Claim) {}).wanted)
	pod.MustReplace = []string{"volume"}
	require.False(t, judged(func(*model.Claim) {}).wanted)
	replacing := func(c *model.Claim) { c.Action, c.Prepare = model.ActionReplace, model.PrepareEvacuate }
	require.True(t, judged(replacing).wanted)
	pod.Remove = true
	require.False(t, judged(replacing).wanted)
	require.True(t, judged(func(c *model.Claim) { replacing(c); c.EmptiedAt = &at }).wanted, "that can not be given up")
}

func TestAsksForMore(t *testing.T) {
	for _, c := range []struct {
		claimed, step model.Action
		was, is       model.Prepare
		more          string
	}{
		{model.ActionRestart, model.ActionRestart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.ActionRestart, model.ActionRestart, model.PrepareEvacuate, model.PrepareHandoff, ""},
		{model.ActionRestart, model.ActionRestart, model.PrepareHandoff, model.PrepareNone, ""},
		{model.ActionRestart, model.ActionRestart, model.PrepareNone, model.PrepareHandoff, "it was claimed with drain None, and needs Handoff now"},
		{model.ActionRestart, model.ActionRestart, model.PrepareHandoff, model.PrepareEvacuate, "it was claimed with drain Handoff, and needs Evacuate now"},
		{model.ActionRestart, model.ActionEvacuate, model.PrepareEvacuate, model.PrepareEvacuate, ""},
		{model.ActionHandoff, model.ActionRestart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.ActionLowerPartition, model.ActionRestart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.ActionRestart, model.ActionLowerPartition, model.PrepareHandoff, model.PrepareHandoff, "it was claimed for Restart, and is to go for LowerPartition now"},
		{model.ActionRemove, model.ActionRestart, model.PrepareEvacuate, model.PrepareHandoff, "it was claimed for Remove, and is to go for Restart now"},
		{model.ActionRestart, model.ActionReplace, model.PrepareEvacuate, model.PrepareEvacuate, "it was claimed for Restart, and is to go for Replace now"},
	} {
		require.Equal(t, c.more, asksForMore(model.Claim{Action: c.claimed, Prepare: c.was}, model.Step{Action: c.step, Prepare: c.is}))
	}
}

// A refusal that tells people what to do, such as that of the guard when it is not enforced, ends
// earlier claims.
func TestOrdersToStopEndClaims(t *testing.T) {
	for rule, ends := range map[model.Rule]bool{model.RuleBadInput: true, model.RulePaused: true, model.RuleObserveOnly: true, model.RuleConflict: false, model.RulePoolUnobserved: false} {
		require.Equal(t, ends, endsClaim(rule), rule)
	}
}

// A pod that broke in the meantime was spared its drain, and has recovered: it is drained and
// observed again.
func TestRecoveredPodIsDrainedAgain(t *testing.T) {
	r := &attempt{observedAt: time.Unix(1, 0)}
	r.known.Drained = DrainNotNeeded
	r.forgetDrain("it is well again")
	require.Equal(t, Known{}, r.known)
	require.Zero(t, r.observedAt)
}

// A claim that is given up because its pod is held for too long has the guard closed before its
// drain is undone. This is so even if the guard was closed once before, because it may have been
// opened since.
func TestGuardIsClosedBeforeTheUndoOfAHeldClaim(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a := stepOn(Facts{Snapshot: threePods(now)}, now)
	a.Snapshot.Health.Verdict = model.VerdictRed // which holds every pod
	a.Snapshot.Pods[1].Report.Drain = model.DrainDone
	claim := model.Claim{ID: "c", Pod: "s-1", UID: "1", Action: model.ActionRestart, Prepare: model.PrepareHandoff, Epoch: 1, Undo: []byte("u")}
	a.Record.Claims = []model.Claim{claim}
	a.Snapshot.Cluster.Status.Claims = a.Record.Claims
	r := &attempt{observedAt: now, holding: holding{heldSince: now.Add(-patience - 1)}}
	r.known.Drained, r.known.Guard = DrainedBySelf, GuardKnownClosed
	a.s.attempts["c"] = r
	c, _, _ := a.assess(claim, r)
	require.NotEmpty(t, r.giveUp)
	require.Equal(t, MoveCloseGuard.String(), next(c).String())
	r.known.Guard = GuardKnownClosed
	c, _, _ = a.assess(claim, r)
	require.Equal(t, MoveRestore.String(), next(c).String())
}
