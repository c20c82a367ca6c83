package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod that is claimed for a restart, and then is to be replaced, does not go
// under that claim; nor one under a replacement's that is to go for good.
func TestARestartDoesNotStandInForAReplacement(t *testing.T) {
	s := threePods(time.Unix(10_000, 0))
	pod, at := podNamed(s, "s-2"), s.Now
	claim := model.Claim{ID: "c", Pod: "s-2", UID: pod.UID, Action: model.Restart, Prepare: model.PrepareHandoff, Phase: model.PhasePrepared}
	judged := func(change func(*model.Claim)) going {
		c := claim
		change(&c)
		s.Cluster.Status.Claims = []model.Claim{c}
		return judgeGoing(s, c)
	}
	require.True(t, judged(func(*model.Claim) {}).wanted)
	pod.MustReplace = []string{"volume"}
	require.False(t, judged(func(*model.Claim) {}).wanted)
	replacing := func(c *model.Claim) { c.Action, c.Prepare = model.Replace, model.PrepareEvacuate }
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
		{model.Restart, model.Restart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.Restart, model.Restart, model.PrepareEvacuate, model.PrepareHandoff, ""},
		{model.Restart, model.Restart, model.PrepareHandoff, model.PrepareNone, ""},
		{model.Restart, model.Restart, model.PrepareNone, model.PrepareHandoff, "it was claimed with drain None, and needs Handoff now"},
		{model.Restart, model.Restart, model.PrepareHandoff, model.PrepareEvacuate, "it was claimed with drain Handoff, and needs Evacuate now"},
		{model.Restart, model.Evacuate, model.PrepareEvacuate, model.PrepareEvacuate, ""},
		{model.Handoff, model.Restart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.LowerPartition, model.Restart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.Restart, model.LowerPartition, model.PrepareHandoff, model.PrepareHandoff, "it was claimed for Restart, and is to go for LowerPartition now"},
		{model.Remove, model.Restart, model.PrepareEvacuate, model.PrepareHandoff, "it was claimed for Remove, and is to go for Restart now"},
		{model.Restart, model.Replace, model.PrepareEvacuate, model.PrepareEvacuate, "it was claimed for Restart, and is to go for Replace now"},
	} {
		require.Equal(t, c.more, asksForMore(model.Claim{Action: c.claimed, Prepare: c.was}, model.Step{Action: c.step, Prepare: c.is}))
	}
}

// What is refused in words that say what to do, as by the guard where that is not enforced, ends claims
// from before.
func TestOrdersToStopEndClaims(t *testing.T) {
	for rule, ends := range map[model.Rule]bool{model.BadInput: true, model.Paused: true, model.ObserveOnly: true, model.Unstable: false, model.PoolUnobserved: false} {
		require.Equal(t, ends, endsClaim(rule), rule)
	}
}

// A pod that broke meanwhile was spared its prepare, and is well again: it is prepared and looked at anew.
func TestWhoIsWellAgainIsPreparedAnew(t *testing.T) {
	r := &attempt{observedAt: time.Unix(1, 0)}
	r.known.Drained = DrainSpared
	r.unprepare("it is well again")
	require.Equal(t, Known{}, r.known)
	require.Zero(t, r.observedAt)
}

// A claim that is given up because its pod is held for too long has the guard closed before its drain is
// undone, also where the guard was closed once before: since then it may have been opened.
func TestWhoIsHeldForTooLongIsClosedBeforeItIsUndone(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a := stepOn(Facts{Snapshot: threePods(now)}, now)
	a.Snapshot.Health.Verdict = model.Red // which holds everybody
	a.Snapshot.Pods[1].Report.Drain = model.DrainPrepared
	claim := model.Claim{ID: "c", Pod: "s-1", UID: "1", Action: model.Restart, Prepare: model.PrepareHandoff, Epoch: 1, Undo: []byte("u")}
	a.Record.Claims = []model.Claim{claim}
	a.Snapshot.Cluster.Status.Claims = a.Record.Claims
	r := &attempt{observedAt: now, holding: holding{heldSince: now.Add(-patience - 1)}}
	r.known.Drained, r.known.Guard = DrainedBySelf, KnownClosed
	a.s.attempts["c"] = r
	c, _, _ := a.assess(claim, r)
	require.NotEmpty(t, r.giveUp)
	require.Equal(t, MoveCloseGuard.String(), next(c).String())
	r.known.Guard = KnownClosed
	c, _, _ = a.assess(claim, r)
	require.Equal(t, MoveRestore.String(), next(c).String())
}
