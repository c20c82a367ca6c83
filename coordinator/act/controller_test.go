package act

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
)

// controller is the StatefulSet controller of a set with the strategy
// RollingUpdate, with its traps: it takes outdated pods at and above the
// partition by itself, the highest first, one at a time; what is refused keeps it
// from all others; a pod below the partition is made on the current revision, and
// that is the new one only when all pods are. OrderedReady waits for whatever is
// not well before it creates or takes anything.
type controller struct {
	w       *world
	ordered atomic.Bool
	start   int32
	asleep  bool // it does nothing, as one that was not elected yet
	slow    bool // it does not make the new revision the current one yet

	// seen by the oracle
	lines  []int32 // where the partition was, without repetitions
	denied int
	took   int
}

// becomeRolling makes the world's pods those of such a set, whose template is
// already that of the update revision.
func (w *world) becomeRolling(by model.RollingUpdate, guarded bool, partition int32, note string) {
	w.set = &controller{w: w}
	w.enforced = guarded
	if guarded {
		w.server.Refuse = func(pod *corev1.Pod) error {
			if pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardClosed {
				return apiserver.BudgetRefusal()
			}
			return nil
		}
	} else {
		w.guard = ""
		for _, pod := range w.pods {
			w.patchPod(pod, `{"metadata":{"labels":{"`+v1alpha1.LabelGuard+`":null}}}`)
		}
	}
	w.edit(func(c *v1alpha1.DatabaseCluster) {
		c.Spec.Update.RollingUpdate = by
		if !guarded {
			c.Spec.Guard = model.GuardOff
		}
	})
	replicas := int32(len(w.pods))
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s", Generation: 1, Annotations: map[string]string{}, Labels: map[string]string{v1alpha1.LabelCluster: name}},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type:          appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
		}},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, CurrentRevision: "v1", UpdateRevision: w.update},
	}
	if note != "" {
		set.Annotations[v1alpha1.AnnotationPartition] = note
	}
	set.Spec.Template.Annotations = map[string]string{"revision": w.update}
	_, err := w.server.Client(nil).Kubernetes.AppsV1().StatefulSets(namespace).Create(w.t.Context(), set, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.set.note(set)
	go w.set.run(w.t.Context())
}

func (w *world) patchPod(pod, patch string) {
	_, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Patch(w.t.Context(), pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// patchSet is somebody else's edit of the StatefulSet.
func (w *world) patchSet(patch string) {
	_, err := w.server.Client(nil).Kubernetes.AppsV1().StatefulSets(namespace).Patch(w.t.Context(), "s", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

func (w *world) setPartition(partition int) {
	w.patchSet(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":` + strconv.Itoa(partition) + `}}}}`)
}

func (w *world) annotateSet(name string, value any) {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}})
	require.NoError(w.t, err)
	w.patchSet(string(text))
}

// retemplate is a new pod template.
func (w *world) retemplate(rev string) {
	w.mu.Lock()
	w.update = rev
	w.mu.Unlock()
	w.patchSet(`{"spec":{"template":{"metadata":{"annotations":{"revision":"` + rev + `"}}}}}`)
}

func (c *controller) get() *appsv1.StatefulSet {
	set, ok := c.w.server.StatefulSet(namespace, "s")
	if !ok {
		c.w.t.Error("there is no StatefulSet")
	}
	return set
}

func partitionIn(set *appsv1.StatefulSet) int32 {
	return *set.Spec.UpdateStrategy.RollingUpdate.Partition
}

// pool is what a coordinator's cache has of the set.
func (c *controller) pool(p model.Pool, by model.RollingUpdate) model.Pool {
	set := c.get()
	p.Strategy, p.Revision, p.Observed = model.StrategyRollingUpdate, set.Status.UpdateRevision, set.Status.ObservedGeneration >= set.Generation
	p.Partition, p.Start = model.FirstOrdinal(partitionIn(set), c.start), c.start
	p.Force = set.Annotations[v1alpha1.AnnotationForce] == "true"
	if c.ordered.Load() {
		p.Management = model.ManagementOrderedReady
	}
	if by == model.RollingUpdateByPartition && foreign(set) {
		line := p.Partition
		p.Ordered = &line
	}
	return p
}

func foreign(set *appsv1.StatefulSet) bool {
	note := set.Annotations[v1alpha1.AnnotationPartition]
	return note != "" && note != strconv.Itoa(int(partitionIn(set)))
}

// pools are the StatefulSets as a coordinator is told of them.
func (w *world) pools() []effect.Pool {
	if w.set == nil {
		return nil
	}
	set := w.set.get()
	return []effect.Pool{{Name: "s", UID: string(set.UID), Generation: set.Generation, CurrentRevision: set.Status.CurrentRevision,
		Foreign: foreign(set)}}
}

func (c *controller) run(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.w.mu.Lock()
			asleep := c.asleep
			c.w.mu.Unlock()
			if !asleep {
				c.turn(ctx)
			}
		}
	}
}

// turn is one pass over the set.
func (c *controller) turn(ctx context.Context) {
	set := c.get()
	c.note(set)
	status := set.Status
	status.ObservedGeneration, status.UpdateRevision = set.Generation, set.Spec.Template.Annotations["revision"]
	if c.create(set, status) {
		c.take(ctx, partitionIn(set), status.UpdateRevision)
	}
	if c.complete(status.UpdateRevision) {
		status.CurrentRevision = status.UpdateRevision
	}
	if status.CurrentRevision == set.Status.CurrentRevision && status.UpdateRevision == set.Status.UpdateRevision && status.ObservedGeneration == set.Status.ObservedGeneration {
		return
	}
	set.Status = status
	// A conflict is tried again at the next turn.
	_, _ = c.w.server.Client(nil).Kubernetes.AppsV1().StatefulSets(namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
}

// observe is a look at the newest spec that takes nothing.
func (c *controller) observe() {
	set := c.get()
	set.Status.ObservedGeneration, set.Status.UpdateRevision = set.Generation, set.Spec.Template.Annotations["revision"]
	_, _ = c.w.server.Client(nil).Kubernetes.AppsV1().StatefulSets(namespace).UpdateStatus(c.w.t.Context(), set, metav1.UpdateOptions{})
}

// note is the oracle's look at the partition.
func (c *controller) note(set *appsv1.StatefulSet) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if p := partitionIn(set); len(c.lines) == 0 || c.lines[len(c.lines)-1] != p {
		c.lines = append(c.lines, p)
	}
}

// seen are the places where the partition was, and how often a removal was refused or not.
func (c *controller) seen() (lines []int32, denied, took int) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return slices.Clone(c.lines), c.denied, c.took
}

// create makes what is missing, and says whether to go on.
func (c *controller) create(set *appsv1.StatefulSet, status appsv1.StatefulSetStatus) bool {
	for i, name := range c.w.pods {
		pod, ok := c.w.server.Pod(namespace, name)
		if !ok {
			rev := status.UpdateRevision
			if int32(i) < partitionIn(set) {
				rev = status.CurrentRevision
			}
			go c.w.start(name, rev)
			for !ok {
				time.Sleep(time.Millisecond)
				_, ok = c.w.server.Pod(namespace, name)
			}
		}
		if c.ordered.Load() && (pod == nil || !c.well(pod)) {
			return false
		}
	}
	return true
}

func (c *controller) well(pod *corev1.Pod) bool {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return pod.DeletionTimestamp == nil && c.w.live[pod.UID]
}

// take removes the highest outdated pod at or above the partition, unless one
// above it is not well.
func (c *controller) take(ctx context.Context, partition int32, update string) {
	for i := len(c.w.pods) - 1; i >= int(partition); i-- {
		pod, ok := c.w.server.Pod(namespace, c.w.pods[i])
		if !ok {
			return
		}
		if pod.Labels[revision] != update && pod.DeletionTimestamp == nil {
			c.remove(ctx, pod)
			return
		}
		if !c.well(pod) {
			return
		}
	}
}

func (c *controller) remove(ctx context.Context, pod *corev1.Pod) {
	c.w.mu.Lock()
	denied := c.w.enforced && pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardClosed
	if denied {
		c.denied++
	}
	c.w.mu.Unlock()
	if denied {
		return
	}
	precondition := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}}
	err := c.w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Delete(ctx, pod.Name, precondition)
	if err == nil { // else somebody wrote the pod in between: it is looked at again
		c.w.mu.Lock()
		c.took++
		c.w.mu.Unlock()
	}
}

// complete reports whether every pod is on the update revision and well.
func (c *controller) complete(update string) bool {
	c.w.mu.Lock()
	slow := c.slow
	c.w.mu.Unlock()
	for _, name := range c.w.pods {
		pod, ok := c.w.server.Pod(namespace, name)
		if slow || !ok || pod.Labels[revision] != update || !c.well(pod) {
			return false
		}
	}
	return true
}

// done reports whether the new revision is the current one, and the partition rests if it is ours.
func (c *controller) done() bool {
	set := c.get()
	cluster, _ := c.w.server.Cluster(namespace, name)
	atRest := cluster.Spec.Update.RollingUpdate == model.RollingUpdateByGuard || partitionIn(set) == model.FirstOrdinalNone
	return set.Status.CurrentRevision == c.w.update && atRest
}

// inRollingWorld is a world whose set has a new template, and a partition at rest where it is
// driven by that.
func inRollingWorld(t *testing.T, by model.RollingUpdate, guarded bool, f func(t *testing.T, w *world)) {
	inWorld(t, func(t *testing.T, w *world) {
		if by == model.RollingUpdateByPartition {
			w.becomeRolling(by, guarded, model.FirstOrdinalNone, strconv.Itoa(int(model.FirstOrdinalNone)))
		} else {
			w.becomeRolling(by, guarded, 0, "")
		}
		f(t, w)
	})
}
