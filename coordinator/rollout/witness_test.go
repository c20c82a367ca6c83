package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Whoever runs is asked itself, however broken it was when it was claimed.
func TestABrokenPodThatRunsIsAsked(t *testing.T) {
	notLive := &policy.Report{UID: "0", Self: true, Fresh: true, Member: policy.NotLive}
	claim := policy.Claim{ID: "c", Pod: "s-0", UID: "0", Action: policy.Restart, Reason: policy.ReasonFailed, Prepare: policy.PrepareNone}
	for _, c := range []struct {
		phase   policy.PodPhase
		problem policy.Problem
		report  *policy.Report
		asked   bool
	}{
		{policy.Ready, policy.NoProblem, notLive, true},
		{policy.Ready, policy.NoProblem, nil, true},
		{policy.Started, policy.NoProblem, nil, true},
		{policy.Started, policy.CrashLoop, notLive, true},
		{policy.Started, policy.CrashLoop, nil, false},
		{policy.Failed, policy.CrashLoop, notLive, false},
		{policy.NotStarted, policy.ImagePull, nil, false},
		{policy.Pending, policy.Unschedulable, nil, false},
	} {
		s := policy.Snapshot{Pods: []policy.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Problem: c.problem, Report: c.report}}}
		b := barrierOf(s, claim)
		require.Equal(t, c.asked, b.Own != nil, "%+v", c)
		_, missing := b.Missing(map[string]bool{})
		require.Equal(t, c.asked, missing)
	}
}

// Kubernetes may show late that a pod has started. Its agent is asked as soon as it speaks, and nobody waits
// for one that is silent.
func TestWhoHasNotBeenShownAsStartedIsAskedIfItsAgentSpeaks(t *testing.T) {
	says := func(change func(r *policy.Report)) *policy.Report {
		r := &policy.Report{UID: "0", Self: true, Fresh: true, Member: policy.NotLive}
		change(r)
		return r
	}
	fresh := says(func(*policy.Report) {})
	for _, c := range []struct {
		phase  policy.PodPhase
		report *policy.Report
		reason policy.Reason
		asked  bool
	}{
		{policy.NotStarted, fresh, policy.ReasonOutdated, true},
		{policy.NotStarted, fresh, policy.ReasonNeverStarted, true},
		{policy.Pending, fresh, policy.ReasonOutdated, true},
		{policy.NotStarted, says(func(r *policy.Report) { r.Member = policy.Live }), policy.ReasonOutdated, true},
		{policy.NotStarted, nil, policy.ReasonOutdated, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.Member = policy.UnknownMember }), policy.ReasonNeverStarted, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.Fresh = false }), policy.ReasonNeverStarted, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.Self = false }), policy.ReasonNeverStarted, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.UID = "former" }), policy.ReasonNeverStarted, false},
	} {
		s := policy.Snapshot{Pods: []policy.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Report: c.report}}}
		b := barrierOf(s, policy.Claim{ID: "c", Pod: "s-0", UID: "0", Action: policy.Restart, Reason: c.reason, Prepare: policy.PrepareNone})
		require.Equal(t, c.asked, b.Own != nil, "%+v", c)
	}
}
