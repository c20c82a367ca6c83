package act

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// After a time without a webhook nobody has an agent, and what a prepare has
// left waits for the first one that comes: its claim must not wait for it, too.
func TestWhereNobodyHasAnAgentAClaimEndsWithoutUndoing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(at *Situation)
		left   bool
	}{
		"nobody has one":                 {func(*Situation) {}, true},
		"one that is away has none":      {func(at *Situation) { at.Snapshot.Pods[1] = model.Pod{Name: "s-1", Phase: model.Missing, Agent: true} }, true},
		"one that starts has one":        {func(at *Situation) { at.Snapshot.Pods[1].Agent, at.Snapshot.Pods[1].Phase = true, model.Pending }, false},
		"the pod stays":                  {func(at *Situation) { at.Snapshot.Pods[0].UID = "0" }, true},
		"one with an agent is not shown": {func(*Situation) {}, false},
		"a setting is shared": {func(at *Situation) {
			at.Cluster = &v1alpha1.DatabaseCluster{}
			at.Cluster.Status.Shared = []v1alpha1.SharedSetting{{Knob: "allocation", Claims: []string{"c"}}}
		}, false},
		"a setting is shared, and not needed any more": {func(at *Situation) {
			at.Cluster = &v1alpha1.DatabaseCluster{}
			at.Cluster.Status.Shared = []v1alpha1.SharedSetting{{Knob: "allocation", Claims: []string{"c"}}}
		}, true},
	} {
		at, claim := adopting()
		at.Cluster = &v1alpha1.DatabaseCluster{}
		claim.ID, claim.Undo = "c", []byte("marks")
		for i := range at.Snapshot.Pods {
			at.Snapshot.Pods[i].Agent, at.Snapshot.Pods[i].Report = false, nil
		}
		at.Snapshot.Pods[0].UID = "new"
		c.change(&at)
		client := kubetest.New().Client(nil)
		if strings.Contains(name, "not shown") {
			_, err := client.Kubernetes.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s-3", Labels: map[string]string{v1alpha1.LabelCluster: "search"}},
				Spec:       corev1.PodSpec{InitContainers: []corev1.Container{{Name: v1alpha1.AgentContainer}}},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		a, err := New(Options{Agents: &agents{}, Kubernetes: client.Kubernetes, Clusters: client.Clusters, Notify: func() {},
			Namespace: namespace, Name: "search", UID: "u", Epoch: 1})
		require.NoError(t, err)
		r := run{over: strings.Contains(name, "not needed")}
		a.undo(t.Context(), at, claim, r)(&r)
		require.Equal(t, c.left, r.heard.Left, name)
		require.False(t, r.heard.Undone, name)
	}
}

// Nothing of the database runs, and the claim would keep the correction from its pod: then
// it ends, too. As long as anybody lives, or nothing corrects the pod, it is undone first.
func TestWhereNothingRunsAClaimMakesRoomForACorrection(t *testing.T) {
	for name, c := range map[string]struct {
		change func(at *Situation)
		left   bool
	}{
		"nothing runs": {func(*Situation) {}, true},
		"another member lives": {func(at *Situation) {
			at.Snapshot.Pods[1].Report.Member, at.Snapshot.Pods[1].Phase = model.Live, model.Ready
		}, false},
		"the pod is not to go":        {func(at *Situation) { at.Plan.Order = nil }, false},
		"the pod may still come back": {func(at *Situation) { at.Snapshot.Pods[0].Problem = "" }, false},
		"the claimed pod is not gone": {func(at *Situation) { at.Snapshot.Pods[0].UID = "0" }, false},
	} {
		at, claim := adopting()
		at.Now = time.Unix(1000, 0)
		at.Cluster = &v1alpha1.DatabaseCluster{}
		at.Plan.Order = []string{"s-0"}
		at.Snapshot.Now = model.At(at.Now)
		at.Snapshot.Cluster.Spec.Policy.StartSeconds = 100
		at.Snapshot.Pools = []model.Pool{{Name: "s", Replicas: 3, Revision: "v3", Observed: true}}
		claim.ID, claim.Prepare, claim.Undo = "c", model.PrepareHandoff, []byte("marks")
		for i := range at.Snapshot.Pods {
			pod := &at.Snapshot.Pods[i]
			pod.Pool, pod.Agent, pod.Phase, pod.Problem = "s", true, model.Pending, model.Unschedulable
			pod.Report = &model.Report{Member: model.NotLive}
			pod.Since = model.At(at.Now.Add(-time.Second))
		}
		at.Snapshot.Pods[0].UID = "new"
		c.change(&at)
		a := &Actor{options: Options{Agents: nobody{}}}
		var r run
		a.undo(t.Context(), at, claim, r)(&r)
		require.Equal(t, c.left, r.heard.Left, name)
		require.False(t, r.heard.Undone, name)
	}
}

// nobody answers.
type nobody struct{ Agents }

func (nobody) Restore(context.Context, Target, string, int64, []byte) (bool, error) {
	return false, errors.New("connection refused")
}

// restoring are agents of which the first that is asked undoes at the second asking.
type restoring struct {
	Agents
	asked []string
}

func (r *restoring) Restore(_ context.Context, to Target, claim string, epoch int64, undo []byte) (bool, error) {
	r.asked = append(r.asked, to.Pod+" "+claim+" "+string(undo))
	return len(r.asked) > 1, nil
}

// What a claim leaves is written down with its release, undone as soon as an agent is there,
// and forgotten after that. Until then it is said what it waits for.
func TestWhatAClaimLeavesIsUndoneLater(t *testing.T) {
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Undo: []byte("marks")}
	status := v1alpha1.Status{Claims: []model.Claim{claim}}
	left := v1alpha1.Leftover{Claim: "c", Pod: "s-0", Undo: []byte("marks")}
	Edits{Drop: []string{"c"}, Leave: []v1alpha1.Leftover{left}}.Apply(&status)
	require.Empty(t, status.Claims)
	require.Equal(t, []v1alpha1.Leftover{left}, status.Leftovers)
	require.True(t, Edits{Clear: []string{"c"}}.Urgent())

	for name, c := range map[string]struct {
		change func(at *Situation)
		asked  int
		says   string
	}{
		"an agent is there": {func(*Situation) {}, 2, ""},
		"no pod has one":    {func(at *Situation) { at.Snapshot.Pods[1].Agent, at.Snapshot.Pods[2].Agent = false, false }, 0, "no live pod has an agent"},
		"its pod is prepared anew": {func(at *Situation) {
			at.Snapshot.Cluster.Status.Claims = []model.Claim{{ID: "d", Pod: "s-0", UID: "0", Prepare: model.PrepareEvacuate}}
		}, 0, ""},
		"a new claim prepares nothing": {func(at *Situation) {
			at.Snapshot.Cluster.Status.Claims = []model.Claim{{ID: "d", Pod: "s-0", UID: "0"}}
		}, 2, ""},
		"its own claim is open": {func(at *Situation) {
			at.Snapshot.Cluster.Status.Claims = []model.Claim{{ID: "c", Pod: "s-5", UID: "gone"}}
		}, 0, "that claim is open: it is undone when it ends"},
		"its pod is replaced, and has gone": {func(at *Situation) {
			at.Snapshot.Cluster.Status.Claims = []model.Claim{{ID: "d", Pod: "s-0", UID: "gone", Action: model.Replace, Prepare: model.PrepareEvacuate}}
		}, 0, ""},
		"another coordinator leads": {func(at *Situation) { at.Cluster.Status.Epoch = 2 }, 0, "the claim is another coordinator's by now"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at, _ := adopting()
				at.Cluster = &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "search"}}
				at.Cluster.Status.Leftovers, at.Cluster.Status.Epoch = []v1alpha1.Leftover{left}, 1
				c.change(&at)
				client := kubetest.New().Client(nil)
				made, err := client.Clusters.DatabaseClusters(namespace).Create(t.Context(), at.Cluster, metav1.CreateOptions{})
				require.NoError(t, err)
				made.Status = at.Cluster.Status
				_, err = client.Clusters.DatabaseClusters(namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
				require.NoError(t, err)
				agents := &restoring{}
				a, err := New(Options{Agents: agents, Kubernetes: client.Kubernetes, Clusters: client.Clusters, Notify: func() {},
					Namespace: namespace, Name: "search", UID: string(made.UID), Epoch: 1})
				require.NoError(t, err)
				var out Outcome
				for range 4 {
					at.Now = time.Now()
					out = Outcome{}
					a.listen(at.Now)
					a.clear(t.Context(), at, &out)
					a.Wait()
					time.Sleep(time.Second)
				}
				require.Len(t, agents.asked, c.asked)
				says := ""
				for what, why := range out.Settings {
					require.Equal(t, "what was prepared on s-0 under claim c", what)
					says = why
				}
				require.Equal(t, c.says, says)
				if c.asked == 0 {
					require.Empty(t, out.Edits.Clear)
					return
				}
				require.Equal(t, "s-1 c marks", agents.asked[0])
				require.Equal(t, []string{"c"}, out.Edits.Clear)
				out.Edits.Apply(&at.Cluster.Status)
				require.Empty(t, at.Cluster.Status.Leftovers)
			})
		})
	}
}
