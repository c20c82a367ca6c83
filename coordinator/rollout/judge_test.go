package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A pod that is claimed for a restart, and then is to be replaced, does not go
// under that claim; nor one under a replacement's that is to go for good.
func TestARestartDoesNotStandInForAReplacement(t *testing.T) {
	s := threePods(time.Unix(10_000, 0))
	pod, at := podNamed(s, "s-2"), s.Now
	claim := policy.Claim{ID: "c", Pod: "s-2", UID: pod.UID, Action: policy.Restart, Prepare: policy.PrepareHandoff, Phase: policy.PhasePrepared}
	judged := func(change func(*policy.Claim)) going {
		c := claim
		change(&c)
		s.Cluster.Status.Claims = []policy.Claim{c}
		return judgeGoing(s, c)
	}
	require.True(t, judged(func(*policy.Claim) {}).wanted)
	pod.MustReplace = []string{"volume"}
	require.False(t, judged(func(*policy.Claim) {}).wanted)
	replacing := func(c *policy.Claim) { c.Action, c.Prepare = policy.Replace, policy.PrepareEvacuate }
	require.True(t, judged(replacing).wanted)
	pod.Remove = true
	require.False(t, judged(replacing).wanted)
	require.True(t, judged(func(c *policy.Claim) { replacing(c); c.EmptiedAt = &at }).wanted, "that can not be given up")
}

func TestAsksForMore(t *testing.T) {
	for _, c := range []struct {
		claimed, step policy.Action
		was, is       policy.Prepare
		more          string
	}{
		{policy.Restart, policy.Restart, policy.PrepareHandoff, policy.PrepareHandoff, ""},
		{policy.Restart, policy.Restart, policy.PrepareEvacuate, policy.PrepareHandoff, ""},
		{policy.Restart, policy.Restart, policy.PrepareHandoff, policy.PrepareNone, ""},
		{policy.Restart, policy.Restart, policy.PrepareNone, policy.PrepareHandoff, "it was claimed with the prepare None, and needs Handoff by now"},
		{policy.Restart, policy.Restart, policy.PrepareHandoff, policy.PrepareEvacuate, "it was claimed with the prepare Handoff, and needs Evacuate by now"},
		{policy.Restart, policy.Evacuate, policy.PrepareEvacuate, policy.PrepareEvacuate, ""},
		{policy.Handoff, policy.Restart, policy.PrepareHandoff, policy.PrepareHandoff, ""},
		{policy.LowerPartition, policy.Restart, policy.PrepareHandoff, policy.PrepareHandoff, ""},
		{policy.Restart, policy.LowerPartition, policy.PrepareHandoff, policy.PrepareHandoff, "it was claimed for Restart, and is to go for LowerPartition by now"},
		{policy.Remove, policy.Restart, policy.PrepareEvacuate, policy.PrepareHandoff, "it was claimed for Remove, and is to go for Restart by now"},
		{policy.Restart, policy.Replace, policy.PrepareEvacuate, policy.PrepareEvacuate, "it was claimed for Restart, and is to go for Replace by now"},
	} {
		require.Equal(t, c.more, asksForMore(policy.Claim{Action: c.claimed, Prepare: c.was}, policy.Step{Action: c.step, Prepare: c.is}))
	}
}

// What is refused in words that say what to do, as by the guard where that is not enforced, ends claims
// from before.
func TestOrdersToStopEndClaims(t *testing.T) {
	for rule, ends := range map[policy.Rule]bool{policy.BadInput: true, policy.Paused: true, policy.ObserveOnly: true, policy.Unstable: false, policy.PoolUnobserved: false} {
		require.Equal(t, ends, endsClaim(rule), rule)
	}
}

// A pod that broke meanwhile was spared its prepare, and is well again: it is prepared and looked at anew.
func TestWhoIsWellAgainIsPreparedAnew(t *testing.T) {
	r := &attempt{spared: true}
	r.heard.Prepared, r.heard.Observed = true, true
	r.unprepare("it is well again")
	require.Equal(t, Heard{}, r.heard)
}
