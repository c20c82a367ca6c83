package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod that runs is asked itself, however broken it was when it was claimed.
func TestBrokenRunningPodIsDrained(t *testing.T) {
	notLive := &model.Report{UID: "0", Self: true, Fresh: true, Member: model.MembershipNotLive}
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Action: model.ActionRestart, Reason: model.ReasonFailed, Prepare: model.PrepareNone}
	for _, c := range []struct {
		phase   model.PodPhase
		problem model.Problem
		report  *model.Report
		asked   bool
	}{
		{model.PodPhaseReady, model.ProblemNone, notLive, true},
		{model.PodPhaseReady, model.ProblemNone, nil, true},
		{model.PodPhaseStarted, model.ProblemNone, nil, true},
		{model.PodPhaseStarted, model.ProblemCrashLoop, notLive, true},
		{model.PodPhaseStarted, model.ProblemCrashLoop, nil, false},
		{model.PodPhaseFailed, model.ProblemCrashLoop, notLive, false},
		{model.PodPhaseNotStarted, model.ProblemImagePull, nil, false},
		{model.PodPhasePending, model.ProblemUnschedulable, nil, false},
	} {
		s := model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Problem: c.problem, Report: c.report}}}
		b := barrierOf(s, claim)
		require.Equal(t, c.asked, b.Own != nil, "%+v", c)
		_, missing := b.Missing(map[string]bool{})
		require.Equal(t, c.asked, missing)
	}
}

// Kubernetes may show late that a pod has started. Its agent is asked as soon as it reports, and
// nobody waits for an agent that does not.
func TestPodWhoseAgentReportsIsDrainedBeforeItsStartIsSeen(t *testing.T) {
	says := func(change func(r *model.Report)) *model.Report {
		r := &model.Report{UID: "0", Self: true, Fresh: true, Member: model.MembershipNotLive}
		change(r)
		return r
	}
	fresh := says(func(*model.Report) {})
	for _, c := range []struct {
		phase  model.PodPhase
		report *model.Report
		reason model.Reason
		asked  bool
	}{
		{model.PodPhaseNotStarted, fresh, model.ReasonOutdated, true},
		{model.PodPhaseNotStarted, fresh, model.ReasonNeverStarted, true},
		{model.PodPhasePending, fresh, model.ReasonOutdated, true},
		{model.PodPhaseNotStarted, says(func(r *model.Report) { r.Member = model.MembershipLive }), model.ReasonOutdated, true},
		{model.PodPhaseNotStarted, nil, model.ReasonOutdated, false},
		{model.PodPhaseNotStarted, says(func(r *model.Report) { r.Member = model.MembershipUnknown }), model.ReasonNeverStarted, false},
		{model.PodPhaseNotStarted, says(func(r *model.Report) { r.Fresh = false }), model.ReasonNeverStarted, false},
		{model.PodPhaseNotStarted, says(func(r *model.Report) { r.Self = false }), model.ReasonNeverStarted, false},
		{model.PodPhaseNotStarted, says(func(r *model.Report) { r.UID = "former" }), model.ReasonNeverStarted, false},
	} {
		s := model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Report: c.report}}}
		b := barrierOf(s, model.Claim{ID: "c", Pod: "s-0", UID: "0", Action: model.ActionRestart, Reason: c.reason, Prepare: model.PrepareNone})
		require.Equal(t, c.asked, b.Own != nil, "%+v", c)
	}
}
