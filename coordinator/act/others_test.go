package act

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// strand takes the node from a pod: its volume is bound to one that is lost, and
// nothing of it runs any more.
func (w *world) strand(pod string) {
	object, _ := w.server.Pod(namespace, pod)
	w.stranded[object.UID], w.live[object.UID] = true, false
}

// newStrandedWorld is a disk world in which any agent can empty any pod, and one pod
// finds no node.
func newStrandedWorld(t *testing.T) *world {
	w := newDiskWorld(t)
	w.stranded = map[types.UID]bool{}
	w.strand("s-1")
	return w
}

// names are those that the database has for the pods.
func (w *world) names() map[string]string {
	if w.stranded == nil && w.bare == nil {
		return nil
	}
	names := map[string]string{}
	for _, pod := range w.pods {
		names[pod] = "n-" + pod
	}
	return names
}

// subject is the pod that an order is for. Callers hold the lock.
func (w *world) subject(to Target, order Order) (Target, error) {
	if order.For == (Subject{}) {
		return to, nil
	}
	for _, pod := range w.pods {
		object, ok := w.server.Pod(namespace, pod)
		if !ok || string(object.UID) != order.For.UID {
			continue
		}
		switch {
		case order.For.Node != "n-"+pod:
			w.accuse("%s is emptied under the name of %s", pod, order.For.Node)
		case order.Prepare != model.PrepareEvacuate:
			w.accuse("%s is prepared by another agent for %s", pod, order.Prepare)
		case !w.stranded[object.UID]:
			return to, fmt.Errorf("%s runs", pod) // it has started meanwhile
		}
		return Target{Pod: pod, UID: order.For.UID}, nil
	}
	return to, fmt.Errorf("pod %s is gone", order.For.UID)
}

// TestAStrandedPodIsReplaced: a pod in which no agent runs is emptied by another one,
// and comes back on a volume of its own, as do the others after it.
func TestAStrandedPodIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Second)
		w := newStrandedWorld(t)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

// TestResumesAStrandedPodAfterACrashAtEveryCall: as with other replacements.
func TestResumesAStrandedPodAfterACrashAtEveryCall(t *testing.T) {
	resumesAfterACrashAtEveryCall(t, newStrandedWorld, false, true)
}

// TestAStrandedPodStarts: its node is back before, in the middle of or after its
// emptying; then its own agent has its say, and it is replaced all the same.
func TestAStrandedPodStarts(t *testing.T) {
	for _, works := range []bool{true, false} {
		t.Run(fmt.Sprintf("works %t", works), func(t *testing.T) { strandedStarts(t, works) })
	}
}

// strandedStarts, with a server that works or does not, at every request.
func strandedStarts(t *testing.T, works bool) {
	for at := 1; at < 25; at++ {
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(10 * time.Second)
			w := newStrandedWorld(t)
			object, _ := w.server.Pod(namespace, "s-1")
			calls := 0
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls != at {
					return nil
				}
				now, ok := w.server.Pod(namespace, "s-1")
				if !ok || now.UID != object.UID || now.DeletionTimestamp != nil {
					return nil
				}
				now.Annotations = map[string]string{"started": "true"} // and so its version changes
				_, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Update(t.Context(), now, metav1.UpdateOptions{})
				require.NoError(t, err)
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.stranded, object.UID)
				w.live[object.UID] = works
				w.prepared[string(object.UID)] = false // its agent has heard of nothing
				return nil
			})
			p.run(5 * time.Minute)
			w.requireClean()
			require.True(t, w.done(), "started at request %d: %s", at, w.describe())
		})
	}
}

// TestAddress: who gets the order for a pod, and what it says.
func TestAddress(t *testing.T) {
	live := func(name string) model.Pod {
		return model.Pod{Name: name, UID: "u-" + name, Agent: true, Phase: model.Ready, Report: &model.Report{Member: model.Live}}
	}
	stranded := model.Pod{Name: "s-1", UID: "u-s-1", Agent: true, Phase: model.Pending}
	for name, c := range map[string]struct {
		change func(o *Options, at *Situation, claim *model.Claim)
		to     string
		node   string
		err    string
	}{
		"another":                  {nil, "u-s-0", "n-1", ""},
		"nobody else can":          {func(o *Options, _ *Situation, _ *model.Claim) { o.EvacuatesOthers = false }, "u-s-1", "", ""},
		"it has started":           {func(_ *Options, at *Situation, _ *model.Claim) { at.Snapshot.Pods[1].Phase = model.NotStarted }, "u-s-1", "", ""},
		"it is restarted":          {func(_ *Options, _ *Situation, c *model.Claim) { c.Action = model.Restart }, "u-s-1", "", ""},
		"nobody knows its name":    {func(_ *Options, at *Situation, _ *model.Claim) { at.Names = nil }, "", "", nameUnknown},
		"nobody else is well":      {func(_ *Options, at *Situation, _ *model.Claim) { at.Snapshot.Pods[0].Report = nil }, "", "n-1", nobodyWell},
		"its agent is not there":   {func(_ *Options, at *Situation, _ *model.Claim) { at.Snapshot.Pods[1].Agent = false }, "u-s-0", "n-1", ""},
		"another agent is leaving": {func(_ *Options, at *Situation, _ *model.Claim) { at.Snapshot.Pods[0].Phase = model.Terminating }, "", "n-1", nobodyWell},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Actor{options: Options{EvacuatesOthers: true}}
			at := Situation{Cluster: &v1alpha1.DatabaseCluster{}, Snapshot: model.Snapshot{Pods: []model.Pod{live("s-0"), stranded}}, Names: map[string]string{"s-1": "n-1"}}
			claim := model.Claim{ID: "c", Pod: "s-1", UID: "u-s-1", Action: model.Replace, Prepare: model.PrepareEvacuate}
			if c.change != nil {
				c.change(&a.options, &at, &claim)
			}
			to, order, err := a.address(at, claim)
			require.Equal(t, c.to, to.UID)
			require.Equal(t, c.node, order.For.Node)
			require.Equal(t, order.For.UID != "", c.node != "" || c.err != "")
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

// TestBarrierOfAStrandedPod: it need not speak, and somebody else must.
func TestBarrierOfAStrandedPod(t *testing.T) {
	pods := []model.Pod{
		{Name: "s-0", UID: "u0", Agent: true, Phase: model.Ready}, {Name: "s-1", UID: "u1", Agent: true, Phase: model.Pending},
		{Name: "s-2", UID: "u2", Agent: true, Phase: model.Ready},
	}
	claim := model.Claim{Pod: "s-1", UID: "u1", Action: model.Replace, Reason: model.ReasonReplacement}
	b := barrierOf(model.Snapshot{Pods: pods}, claim)
	require.Nil(t, b.own)
	require.Equal(t, []Target{{"s-0", "u0"}, {"s-2", "u2"}}, b.witnesses)
	what, missing := b.missing(map[string]bool{})
	require.True(t, missing)
	require.Equal(t, "no fresh report from any of s-0, s-2", what)
	_, missing = b.missing(map[string]bool{"s-2": true})
	require.False(t, missing)

	what, missing = barrierOf(model.Snapshot{Pods: pods[1:2]}, claim).missing(nil)
	require.True(t, missing)
	require.Equal(t, "no fresh report from any of the other pods: none is ready", what)

	pods[1].Phase = model.Started
	require.NotNil(t, barrierOf(model.Snapshot{Pods: pods}, claim).own)
}
