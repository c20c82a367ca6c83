package rollout

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// undoneBy lets a claim's drain be undone when nobody answers. If hidden is true, the API server
// has a pod with an agent that is not shown.
func undoneBy(t *testing.T, a *step, claim model.Claim, r *attempt, hidden bool) {
	a.s.attempts[claim.ID], a.Record.Claims = r, []model.Claim{claim}
	a.restore(claim, r)
	require.Len(t, a.out.Effects, 1)
	e := a.out.Effects[0].(effect.Restore)
	res := effect.Restored{Claim: claim.ID, Err: errors.New("connection refused"), Nobody: e.FindAgents && !hidden}
	a.learn(res)
}

// After a time without the webhook no pod has an agent, and what a drain has left waits for the
// first agent. Its claim must not wait for it, too.
func TestClaimEndsWithoutUndoWhenNoAgentExists(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *step)
		left   bool
	}{
		"nobody has one":                   {func(*step) {}, true},
		"one that is unavailable has none": {func(a *step) { a.Snapshot.Pods[1] = model.Pod{Name: "s-1", Phase: model.PodPhaseMissing, Agent: true} }, true},
		"one that starts has one":          {func(a *step) { a.Snapshot.Pods[1].Agent, a.Snapshot.Pods[1].Phase = true, model.PodPhasePending }, false},
		"the pod stays":                    {func(a *step) { a.Snapshot.Pods[0].UID = "0" }, true},
		"one with an agent is not shown":   {func(*step) {}, false},
		"a setting is shared": {func(a *step) {
			a.Record.ClusterSettings = []model.ClusterSetting{{Name: "allocation", Claims: []string{"c"}}}
		}, false},
		"a setting is shared, and not needed any more": {func(a *step) {
			a.Record.ClusterSettings = []model.ClusterSetting{{Name: "allocation", Claims: []string{"c"}}}
		}, true},
	} {
		a, claim := adopting()
		claim.Undo = []byte("marks")
		for i := range a.Snapshot.Pods {
			a.Snapshot.Pods[i].Agent, a.Snapshot.Pods[i].Report = false, nil
		}
		a.Snapshot.Pods[0].UID = "new"
		c.change(a)
		r := &attempt{settingReleased: strings.Contains(name, "not needed")}
		undoneBy(t, a, claim, r, strings.Contains(name, "not shown"))
		require.Equal(t, c.left, r.known.UndoDeferred, name)
		require.False(t, r.known.Restored, name)
	}
}

// If nothing of the database runs, and the claim would block the correction of its pod, it ends,
// too. As long as a pod lives, or nothing corrects the pod, it is undone first.
func TestClaimYieldsToACorrectionWhenNothingRuns(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *step)
		left   bool
	}{
		"nothing runs": {func(*step) {}, true},
		"another member lives": {func(a *step) {
			a.Snapshot.Pods[1].Report.Member, a.Snapshot.Pods[1].Phase = model.MembershipLive, model.PodPhaseReady
		}, false},
		"the pod is not to go":        {func(a *step) { a.plan.Order = nil }, false},
		"the pod may still come back": {func(a *step) { a.Snapshot.Pods[0].Problem = "" }, false},
		"the claimed pod is not gone": {func(a *step) { a.Snapshot.Pods[0].UID = "0" }, false},
	} {
		a, claim := adopting()
		a.now = time.Unix(1000, 0)
		a.plan.Order = []string{"s-0"}
		a.Snapshot.Now = model.At(a.now)
		a.Snapshot.Cluster.Spec.Policy.StartSeconds = 100
		a.Snapshot.Pools = []model.Pool{{Name: "s", Replicas: 3, Revision: "v3", Observed: true}}
		claim.Prepare, claim.Undo = model.PrepareHandoff, []byte("marks")
		for i := range a.Snapshot.Pods {
			pod := &a.Snapshot.Pods[i]
			pod.Pool, pod.Agent, pod.Phase, pod.Problem = "s", true, model.PodPhasePending, model.ProblemUnschedulable
			pod.Report = &model.Report{Member: model.MembershipNotLive}
			pod.Since = model.At(a.now.Add(-time.Second))
		}
		a.Snapshot.Pods[0].UID = "new"
		c.change(a)
		r := &attempt{}
		undoneBy(t, a, claim, r, false)
		require.Equal(t, c.left, r.known.UndoDeferred, name)
		require.False(t, r.known.Restored, name)
	}
}

// What a claim leaves is recorded together with its release, and is written at once.
func TestLeftoversAreRecorded(t *testing.T) {
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Undo: []byte("marks")}
	record := Record{Claims: []model.Claim{claim}}
	left := model.PendingRestore{Claim: "c", Pod: "s-0", Undo: []byte("marks")}
	Edits{Drop: []string{"c"}, RecordPendingRestores: []model.PendingRestore{left}}.Apply(&record)
	require.Empty(t, record.Claims)
	require.Equal(t, []model.PendingRestore{left}, record.PendingRestores)
	require.True(t, Edits{ForgetPendingRestores: []string{"c"}}.Urgent())
}
