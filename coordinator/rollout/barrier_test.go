package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Whoever runs is asked itself, however broken it was when it was claimed.
func TestABrokenPodThatRunsIsAsked(t *testing.T) {
	notLive := &model.Report{UID: "0", Self: true, Fresh: true, Member: model.NotLive}
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Action: model.Restart, Reason: model.ReasonFailed, Prepare: model.PrepareNone}
	for _, c := range []struct {
		phase   model.PodPhase
		problem model.Problem
		report  *model.Report
		asked   bool
	}{
		{model.Ready, model.NoProblem, notLive, true},
		{model.Ready, model.NoProblem, nil, true},
		{model.Started, model.NoProblem, nil, true},
		{model.Started, model.CrashLoop, notLive, true},
		{model.Started, model.CrashLoop, nil, false},
		{model.Failed, model.CrashLoop, notLive, false},
		{model.NotStarted, model.ImagePull, nil, false},
		{model.Pending, model.Unschedulable, nil, false},
	} {
		s := model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Problem: c.problem, Report: c.report}}}
		b := barrierOf(s, claim)
		require.Equal(t, c.asked, b.Own != nil, "%+v", c)
		_, missing := b.Missing(map[string]bool{})
		require.Equal(t, c.asked, missing)
	}
}

// Kubernetes may show late that a pod has started. Its agent is asked as soon as it speaks, and nobody waits
// for one that is silent.
func TestWhoHasNotBeenShownAsStartedIsAskedIfItsAgentSpeaks(t *testing.T) {
	says := func(change func(r *model.Report)) *model.Report {
		r := &model.Report{UID: "0", Self: true, Fresh: true, Member: model.NotLive}
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
		{model.NotStarted, fresh, model.ReasonOutdated, true},
		{model.NotStarted, fresh, model.ReasonNeverStarted, true},
		{model.Pending, fresh, model.ReasonOutdated, true},
		{model.NotStarted, says(func(r *model.Report) { r.Member = model.Live }), model.ReasonOutdated, true},
		{model.NotStarted, nil, model.ReasonOutdated, false},
		{model.NotStarted, says(func(r *model.Report) { r.Member = model.UnknownMember }), model.ReasonNeverStarted, false},
		{model.NotStarted, says(func(r *model.Report) { r.Fresh = false }), model.ReasonNeverStarted, false},
		{model.NotStarted, says(func(r *model.Report) { r.Self = false }), model.ReasonNeverStarted, false},
		{model.NotStarted, says(func(r *model.Report) { r.UID = "former" }), model.ReasonNeverStarted, false},
	} {
		s := model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Report: c.report}}}
		b := barrierOf(s, model.Claim{ID: "c", Pod: "s-0", UID: "0", Action: model.Restart, Reason: c.reason, Prepare: model.PrepareNone})
		require.Equal(t, c.asked, b.Own != nil, "%+v", c)
	}
}
