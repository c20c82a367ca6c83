package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

func TestWaitEndsAsTheRolloutDoes(t *testing.T) {
	stalled := rolling(t, func(s *model.Snapshot) { s.Health.Verdict = model.VerdictRed })
	stalled.Phase = model.ClusterStalled
	failed := rolling(t)
	failed.Plan.Steps, failed.Plan.Holds = nil, []model.Hold{{Rule: model.RuleRolloutHalted, Reason: "1 pod of v2 failed"}}
	for name, c := range map[string]struct {
		decision status.Decision
		code     int
		stdout   string
		stderr   string
	}{
		"done":    {rolling(t, finished), cli.ExitDone, "Done: 3 of 3 updated", ""},
		"stalled": {stalled, cli.ExitStalled, "Stalled: ", "the rollout of search has stalled: "},
		"failed":  {failed, cli.ExitFailed, "rollout-halted holds all", "the rollout of search has failed: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.board.Publish(c.decision)
			code, stdout, stderr := w.run("status", "search", "--wait", "--timeout", "5m")
			require.Equal(t, c.code, code, stderr)
			require.Contains(t, stdout, c.stdout)
			require.Contains(t, stderr, c.stderr)
		})
	}
	t.Run("late", func(t *testing.T) {
		timeout, _, stderr := newWorld(t, rolling(t)).waits("Rolling: 0 of 3 updated", "status", "search", "--wait")
		require.Contains(t, stderr, "is not over after "+timeout+": Rolling")
	})
}

func TestWaitShowsProgress(t *testing.T) {
	w := newWorld(t, rolling(t))
	r := w.start(t.Context(), "status", "search", "--wait", "--timeout", "1m")
	r.says("Rolling: 0 of 3 updated")
	w.board.Publish(rolling(t, func(s *model.Snapshot) { s.Pods[2].Revision = "v2" }))
	r.says("Rolling: 1 of 3 updated")
	w.board.Publish(rolling(t, finished))
	require.Zero(t, r.end(), r.errOut.String())
	require.Equal(t, 3, strings.Count(r.out.String(), "\n"), r.out.String())
}

func TestWaitSurvivesAnElection(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.object(&v1alpha1.DatabaseCluster{Status: v1alpha1.Status{Phase: model.ClusterRolling, Pods: model.PodCounts{Desired: 3, Away: 1}}})
	r := w.start(t.Context(), "status", "search", "--wait", "--timeout", "1m")
	r.says("Rolling: 0 of 3 updated, 0 unavailable")
	w.board.Follow("")
	r.says("Rolling: 0 of 3 updated, 1 unavailable") // what the object says
	w.board.Lead()
	w.board.Publish(rolling(t, finished))
	require.Zero(t, r.end(), r.errOut.String())
	require.Contains(t, r.out.String(), "Done: 3 of 3 updated")
	require.Equal(t, 1, strings.Count(r.errOut.String(), "note: "), r.errOut.String())
}

func TestWaitSeesChangesThatTheCoordinatorDoesNot(t *testing.T) {
	w := newWorld(t, rolling(t, finished))
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "search", Generation: 2}, Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: "v2"}}
	replicas := int32(3)
	set.Spec.Replicas = &replicas
	sets := &appsv1.StatefulSetList{TypeMeta: metav1.TypeMeta{Kind: "StatefulSetList", APIVersion: "apps/v1"}, Items: []appsv1.StatefulSet{set}}
	w.objects[setsPath] = sets
	w.waits("Kubernetes has not yet looked at the newest change of StatefulSet search", "status", "search", "--wait")

	sets.Items[0].Status.ObservedGeneration, sets.Items[0].Status.UpdateRevision = 2, "v3"
	w.waits("the coordinator has not yet looked at the newest change of StatefulSet search", "status", "search", "--wait")

	w.forbid(setsPath)
	code, _, stderr := w.run("status", "search", "--wait", "--timeout", "5m")
	require.Zero(t, code, stderr)
}

func TestWaitSeesARestartThatHasNotBegun(t *testing.T) {
	w := newWorld(t, rolling(t, finished))
	asked := time.Now().Add(-time.Second).Truncate(time.Second)
	w.object(&v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationRestart: asked.UTC().Format(time.RFC3339)}}})
	pod := func(made time.Time) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made)}}
	}
	pods := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{pod(asked.Add(-time.Hour)), pod(asked)}}
	w.objects["/api/v1/namespaces/prod/pods"] = pods
	w.objects[setsPath] = &appsv1.StatefulSetList{TypeMeta: metav1.TypeMeta{Kind: "StatefulSetList", APIVersion: "apps/v1"}}
	w.waits(", and 1 of 2 are older; it begins 30s after that", "status", "search", "--wait")

	pods.Items = pods.Items[1:]
	code, _, stderr := w.run("status", "search", "--wait", "--timeout", "5m")
	require.Zero(t, code, stderr)
}
