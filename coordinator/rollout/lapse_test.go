package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// An agent that has restarted says nothing of a drain: it is asked again.
func TestAnAgentThatForgotIsAskedAgain(t *testing.T) {
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Prepare: model.PrepareHandoff}
	report := &model.Report{Self: true, Fresh: true, Drain: model.DrainDone}
	s := model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "0", Agent: true, Report: report}}}
	require.Empty(t, drainLost(s, claim))
	report.Drain = model.DrainNone
	require.Equal(t, "its agent says None", drainLost(s, claim))
	report.Drain, report.DrainDetail = model.DrainRefused, "it is undone"
	require.Equal(t, "its agent says Refused: it is undone", drainLost(s, claim))
	report.Drain = model.DrainRunning
	require.Empty(t, drainLost(s, claim), "that is no word of its end")
	require.True(t, drainMissing(s, claim))
	report.Fresh, report.Drain = false, model.DrainRefused
	require.Empty(t, drainLost(s, claim), "what it said before is no news")
}
