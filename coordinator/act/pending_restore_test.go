package act

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Where nobody answers who could undo a drain, it is looked whether the API server knows of
// a pod with an agent that is not shown.
func TestUndoIsDeferredOnlyIfTheAPIServerHasNoAgents(t *testing.T) {
	for name, c := range map[string]struct {
		effect effect.Restore
		hidden bool // there is a pod with an agent
		nobody bool
		says   string
	}{
		"nobody has one":                 {effect.Restore{FindAgents: true}, false, true, "no agent is there to undo the drain"},
		"one with an agent is not shown": {effect.Restore{FindAgents: true}, true, false, "no StatefulSet with the label rollcall.dev/cluster: search shows the pods that have an agent (s-3)"},
		"some are shown with one":        {effect.Restore{}, false, false, "no agent is there to undo the drain"},
		"one is shown, and is silent": {effect.Restore{Targets: []effect.Target{{Pod: "s-1", UID: "1"}}}, false, false,
			"undo the drain through s-1: connection refused"},
	} {
		client := kubetest.New().Client(nil)
		if c.hidden {
			_, err := client.Kubernetes.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s-3", Labels: map[string]string{v1alpha1.LabelCluster: "search"}},
				Spec:       corev1.PodSpec{InitContainers: []corev1.Container{{Name: v1alpha1.AgentContainer}}},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		x, err := New(Options{Agents: nobody{}, Kubernetes: client.Kubernetes, Clusters: client.Clusters, Notify: func() {},
			Namespace: namespace, Name: "search", UID: "u", Epoch: 1})
		require.NoError(t, err)
		res := x.restore(t.Context(), c.effect).(effect.Restored)
		require.Equal(t, c.nobody, res.Nobody, name)
		require.False(t, res.Answered || res.Done, name)
		require.EqualError(t, res.Err, c.says, name)
	}
}

// nobody answers.
type nobody struct{ AgentClient }

func (nobody) Restore(context.Context, effect.Target, string, int64, []byte) (bool, error) {
	return false, errors.New("connection refused")
}

// restoring are agents of which the first that is asked undoes at the second asking.
type restoring struct {
	AgentClient
	asked []string
}

func (r *restoring) Restore(_ context.Context, to effect.Target, claim string, epoch int64, undo []byte) (bool, error) {
	r.asked = append(r.asked, to.Pod+" "+claim+" "+string(undo))
	return len(r.asked) > 1, nil
}

// What a claim leaves is undone as soon as an agent is there, and forgotten after that. Until then
// it is said what it waits for.
func TestLeftoversAreUndoneLater(t *testing.T) {
	left := model.PendingRestore{Claim: "c", Pod: "s-0", Undo: []byte("marks")}
	for name, c := range map[string]struct {
		change func(s *model.Snapshot)
		asked  int
		says   string
	}{
		"an agent is there": {func(*model.Snapshot) {}, 2, ""},
		"no pod has one":    {func(s *model.Snapshot) { s.Pods[1].Agent, s.Pods[2].Agent = false, false }, 0, "no live pod has an agent"},
		"its pod is drained again": {func(s *model.Snapshot) {
			s.Cluster.Status.Claims = []model.Claim{{ID: "d", Pod: "s-0", UID: "0", Prepare: model.PrepareEvacuate}}
		}, 0, ""},
		"a new claim drains nothing": {func(s *model.Snapshot) {
			s.Cluster.Status.Claims = []model.Claim{{ID: "d", Pod: "s-0", UID: "0"}}
		}, 2, ""},
		"its own claim is open": {func(s *model.Snapshot) {
			s.Cluster.Status.Claims = []model.Claim{{ID: "c", Pod: "s-5", UID: "gone"}}
		}, 0, "that claim is open: it is undone when it ends"},
		"its pod is replaced, and has gone": {func(s *model.Snapshot) {
			s.Cluster.Status.Claims = []model.Claim{{ID: "d", Pod: "s-0", UID: "gone", Action: model.ActionReplace, Prepare: model.PrepareEvacuate}}
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, agents := leftBehind(t, left, 1)
				s := adopting()
				c.change(&s)
				record := rollout.Record{Epoch: 1, PendingRestores: []model.PendingRestore{left}}
				state, out := rollout.NewState(1, rollout.Before{}), rollout.Outcome{}
				for range 4 {
					now := time.Now()
					state, out = rollout.Step(state, rollout.Facts{Record: record, Snapshot: s}, x.Results(now), now)
					require.False(t, out.Superseded)
					x.Start(t.Context(), out.Effects)
					x.Wait()
					time.Sleep(time.Second)
				}
				require.Len(t, agents.asked, c.asked)
				says := ""
				for what, why := range out.Settings {
					require.Equal(t, "the drain of s-0 under claim c", what)
					says = why
				}
				require.Equal(t, c.says, says)
				if c.asked == 0 {
					require.Empty(t, out.Edits.ForgetPendingRestores)
					return
				}
				require.Equal(t, "s-1 c marks", agents.asked[0])
				require.Equal(t, []string{"c"}, out.Edits.ForgetPendingRestores)
				out.Edits.Apply(&record)
				require.Empty(t, record.PendingRestores)
			})
		})
	}
}

// A former leader undoes nothing of what claims have left.
func TestAFormerLeaderUndoesNoLeftovers(t *testing.T) {
	left := model.PendingRestore{Claim: "c", Pod: "s-0", Undo: []byte("marks")}
	x, agents := leftBehind(t, left, 2)
	state, now := rollout.NewState(1, rollout.Before{}), time.Now()
	facts := rollout.Facts{Record: rollout.Record{Epoch: 1, PendingRestores: []model.PendingRestore{left}}, Snapshot: adopting()}
	state, out := rollout.Step(state, facts, nil, now)
	require.Len(t, out.Effects, 1)
	x.Start(t.Context(), out.Effects)
	x.Wait()
	require.Empty(t, agents.asked)
	results := x.Results(time.Now())
	require.Len(t, results, 1)
	require.EqualError(t, results[0].(effect.PendingRestored).Err, "the claim is another coordinator's now")
	_, out = rollout.Step(state, facts, results, time.Now())
	require.True(t, out.Superseded)
	require.Empty(t, out.Edits.ForgetPendingRestores)
}

// leftBehind has an API server with a database in whose status something is left, and an
// executor of the first epoch.
func leftBehind(t *testing.T, left model.PendingRestore, epoch int64) (*Executor, *restoring) {
	client := kubetest.New().Client(nil)
	made, err := client.Clusters.DatabaseClusters(namespace).Create(t.Context(),
		&v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "search"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	made.Status.PendingRestores, made.Status.Epoch = []model.PendingRestore{left}, epoch
	_, err = client.Clusters.DatabaseClusters(namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)
	agents := &restoring{}
	x, err := New(Options{Agents: agents, Kubernetes: client.Kubernetes, Clusters: client.Clusters, Notify: func() {},
		Namespace: namespace, Name: "search", UID: string(made.UID), Epoch: 1})
	require.NoError(t, err)
	return x, agents
}

// adopting is a database of which one pod has no agent.
func adopting() model.Snapshot {
	live := func() *model.Report { return &model.Report{Member: model.MembershipLive, Fresh: true, Settled: true} }
	return model.Snapshot{Pods: []model.Pod{
		{Name: "s-0", UID: "0", Phase: model.PodPhaseReady, Revision: "v1"},
		{Name: "s-1", UID: "1", Phase: model.PodPhaseReady, Revision: "v1", Agent: true, Report: live()},
		{Name: "s-2", UID: "2", Phase: model.PodPhaseReady, Revision: "v2", Agent: true, Report: live()},
	}}
}
