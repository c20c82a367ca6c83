package act

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func adopting() (Situation, policy.Claim) {
	live := func() *policy.Report { return &policy.Report{Member: policy.Live, Fresh: true, Settled: true} }
	at := Situation{Names: map[string]string{"s-0": "n0"}}
	at.Snapshot.Pods = []policy.Pod{
		{Name: "s-0", UID: "0", Phase: policy.Ready, Revision: "v1"},
		{Name: "s-1", UID: "1", Phase: policy.Ready, Revision: "v1", Agent: true, Report: live()},
		{Name: "s-2", UID: "2", Phase: policy.Ready, Revision: "v2", Agent: true, Report: live()},
	}
	return at, policy.Claim{Pod: "s-0", UID: "0", Action: policy.Restart, Prepare: policy.PrepareNone, Reason: policy.ReasonOutdated, To: "v2"}
}

func TestANeighbourHandsOverUpdatedOnesFirst(t *testing.T) {
	at, claim := adopting()
	require.True(t, alone(at, claim))
	require.Equal(t, []Target{{Pod: "s-2", UID: "2"}, {Pod: "s-1", UID: "1"}}, relievers(at, claim))

	at.Snapshot.Pods[2].Report.Member = policy.NotLive
	at.Snapshot.Pods[1].Phase = policy.Started
	require.Empty(t, relievers(at, claim))
	require.False(t, alone(at, claim), "there are agents, but none that can")
}

func TestWhoIsNotAlone(t *testing.T) {
	for name, change := range map[string]func(*Situation, *policy.Claim){
		"has an agent":          func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods[0].Agent = true },
		"serves nothing":        func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods[0].Phase = policy.Started },
		"never started":         func(_ *Situation, c *policy.Claim) { c.Reason = policy.ReasonNeverStarted },
		"failed":                func(_ *Situation, c *policy.Claim) { c.Reason = policy.ReasonFailed },
		"is not known by name":  func(at *Situation, _ *policy.Claim) { at.Names = nil },
		"is not there any more": func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods = at.Snapshot.Pods[1:] },
	} {
		at, claim := adopting()
		change(&at, &claim)
		require.False(t, alone(at, claim), name)
	}
}

// unrelieved are agents of which none can hand over for another.
type unrelieved struct{ Agents }

func (unrelieved) Relieve(context.Context, Target, Order, string) (Progress, error) {
	return Progress{}, &OwnAgentOnlyError{Why: "s-2 follows s-0, which has no agent"}
}

// A primary that nobody can hand over for is left where it is, however long that
// takes, and the reason is what a person reads.
func TestAPodThatOnlyItsOwnAgentCouldHandOverStays(t *testing.T) {
	at, claim := adopting()
	at.Cluster = &v1alpha1.DatabaseCluster{}
	a := &Actor{options: Options{Agents: unrelieved{&agents{}}}}
	for _, began := range []time.Time{{}, time.Now(), time.Now().Add(-time.Hour)} {
		r := run{prepareBegan: began}
		a.relieve(t.Context(), at, claim)(&r)
		require.False(t, r.heard.Relieved)
		require.Equal(t, "s-2 follows s-0, which has no agent", r.giveUp)
		require.Equal(t, policy.Vetoed, r.rest)
		moves := Case{Claim: claim, Pod: Here, Alone: true, GiveUp: r.giveUp != ""}
		require.Equal(t, Shut, next(moves))
		moves.Heard.Closed = true
		require.Equal(t, Release, next(moves))
	}
}

func TestTheFirstIsHandedOverByTheCoordinator(t *testing.T) {
	at, claim := adopting()
	at.Names = nil
	for i := range at.Snapshot.Pods {
		at.Snapshot.Pods[i].Agent = false
	}
	require.True(t, alone(at, claim))
	require.Empty(t, relievers(at, claim))
}

// After a time without a webhook nobody has an agent, and what a prepare has
// left waits for the first one that comes: its claim must not wait for it, too.
func TestWhereNobodyHasAnAgentAClaimEndsWithoutUndoing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(at *Situation)
		undone bool
	}{
		"nobody has one":                 {func(*Situation) {}, true},
		"one that is away has none":      {func(at *Situation) { at.Snapshot.Pods[1] = policy.Pod{Name: "s-1", Phase: policy.Missing, Agent: true} }, true},
		"one that starts has one":        {func(at *Situation) { at.Snapshot.Pods[1].Agent, at.Snapshot.Pods[1].Phase = true, policy.Pending }, false},
		"the pod is still there":         {func(at *Situation) { at.Snapshot.Pods[0].UID = "0" }, false},
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
		require.Equal(t, c.undone, r.heard.Undone, name)
	}
}
