package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// An agent that has restarted says nothing of a prepare: it is asked again.
func TestAnAgentThatForgotIsAskedAgain(t *testing.T) {
	claim := policy.Claim{ID: "c", Pod: "s-0", UID: "0", Prepare: policy.PrepareHandoff}
	report := &policy.Report{Self: true, Fresh: true, Drain: policy.DrainPrepared}
	s := policy.Snapshot{Pods: []policy.Pod{{Name: "s-0", UID: "0", Agent: true, Report: report}}}
	require.Empty(t, drainLost(s, claim))
	report.Drain = policy.DrainNone
	require.Equal(t, "its agent says None", drainLost(s, claim))
	report.Drain, report.DrainDetail = policy.DrainRefused, "it is undone"
	require.Equal(t, "its agent says Refused: it is undone", drainLost(s, claim))
	report.Drain = policy.DrainPreparing
	require.Empty(t, drainLost(s, claim), "that is no word of its end")
	require.True(t, drainAnew(s, claim))
	report.Fresh, report.Drain = false, policy.DrainRefused
	require.Empty(t, drainLost(s, claim), "what it said before is no news")
}
