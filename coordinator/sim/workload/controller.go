// Package workload is the part of Kubernetes that makes pods come and go: the
// StatefulSet controller and the kubelets, with the manners of the real ones.
package workload

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
)

// ControllerUser is the controller's name to the API server.
const ControllerUser = "statefulset"

// Controller is the StatefulSet controller. It looks again a while after every change.
type Controller struct {
	loop   *clock.Loop
	server *api.Server
	// Webhook is true if new pods get guard and agent.
	Webhook bool
	// Slow is how long a change takes at most to be seen.
	Slow time.Duration

	due map[string]bool
}

// NewController begins to watch a server.
func NewController(loop *clock.Loop, server *api.Server) *Controller {
	c := &Controller{loop: loop, server: server, Webhook: true, Slow: 200 * time.Millisecond, due: map[string]bool{}}
	server.Changed = append(server.Changed, func(kind api.Kind, before, after api.Object) {
		switch kind {
		case api.Sets:
			c.later(cmp.Or(after, before).GetName(), c.Slow)
		case api.Pods:
			pod := cmp.Or(after, before).(*corev1.Pod)
			c.later(pod.Labels["app"], c.Slow)
			if after == nil && len(pod.Spec.Volumes) > 0 {
				c.release(pod)
			}
		}
	})
	return c
}

func (c *Controller) later(set string, within time.Duration) {
	if c.due[set] {
		return
	}
	c.due[set] = true
	c.loop.In(c.loop.Between(within/20, within), func() {
		c.due[set] = false
		if s := c.server.Set(set); s != nil {
			c.reconcile(s)
		}
	})
}

// reconcile takes one look and does what follows from it.
func (c *Controller) reconcile(set *appsv1.StatefulSet) {
	c.adopt(set)
	pods := map[int]*corev1.Pod{}
	var beyond []*corev1.Pod
	start := First(set)
	end := start + int(*set.Spec.Replicas)
	for _, name := range c.server.Names(api.Pods) {
		pod := c.server.Pod(name)
		if pod.Labels["app"] != set.Name {
			continue
		}
		if n := Ordinal(name); n >= start && n < end {
			pods[n] = pod
		} else {
			beyond = append(beyond, pod)
		}
	}
	c.status(set, pods, beyond)
	set = c.server.Set(set.Name)
	ordered := set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	for n := start; n < end; n++ {
		pod := pods[n]
		if pod == nil {
			c.create(set, n)
			if ordered {
				return
			}
			continue
		}
		if ended(pod) && pod.DeletionTimestamp == nil {
			c.remove(set, pod)
			if ordered {
				return
			}
			continue
		}
		if ordered && (!Ready(pod) || pod.DeletionTimestamp != nil) {
			return
		}
	}
	slices.SortFunc(beyond, func(a, b *corev1.Pod) int { return cmp.Compare(Ordinal(b.Name), Ordinal(a.Name)) })
	for _, pod := range beyond {
		if pod.DeletionTimestamp == nil {
			c.remove(set, pod)
		}
		if ordered {
			return
		}
	}
	if rolls(set) {
		c.roll(set, pods, start+int(Partition(set)), end)
	}
}

// roll takes the highest outdated pod at or above the partition, one at a time, and waits where a
// pod above it is not well.
func (c *Controller) roll(set *appsv1.StatefulSet, pods map[int]*corev1.Pod, line, end int) {
	for n := end - 1; n >= line; n-- {
		pod := pods[n]
		if pod == nil {
			return
		}
		if Revision(pod) != Template(set) && pod.DeletionTimestamp == nil {
			c.remove(set, pod)
			return
		}
		if !Ready(pod) || pod.DeletionTimestamp != nil {
			return
		}
	}
}

// First is the lowest ordinal of a set's pods.
func First(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

func rolls(set *appsv1.StatefulSet) bool {
	return set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType
}

// Partition of a StatefulSet that rolls; what is below comes back on the current revision.
func Partition(set *appsv1.StatefulSet) int32 {
	if r := set.Spec.UpdateStrategy.RollingUpdate; rolls(set) && r != nil && r.Partition != nil {
		return *r.Partition
	}
	return 0
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func (c *Controller) create(set *appsv1.StatefulSet, ordinal int) {
	revision := Template(set)
	if rolls(set) && ordinal < First(set)+int(Partition(set)) {
		revision = set.Status.CurrentRevision
	}
	pod := newPod(set, ordinal, revision, c.Webhook)
	c.outlived(pod)
	if !provide(c.server, pod) {
		c.later(set.Name, 4*c.Slow)
		return
	}
	if err := c.server.Create(api.Pods, pod); err == nil {
		c.loop.Log("sts", "creates %s on %s", pod.Name, Revision(pod))
	}
}

// remove deletes a pod, and tries again later when that is refused.
func (c *Controller) remove(set *appsv1.StatefulSet, pod *corev1.Pod) {
	if err := c.server.Remove(ControllerUser, pod.Name, nil, false); err != nil {
		c.later(set.Name, 4*time.Second)
		return
	}
	c.loop.Log("sts", "deletes %s", pod.Name)
}

// status writes what is seen. Under RollingUpdate the current revision moves when
// all pods run the template and are ready; under OnDelete it never does.
func (c *Controller) status(set *appsv1.StatefulSet, pods map[int]*corev1.Pod, beyond []*corev1.Pod) {
	next := set.Status
	next.ObservedGeneration, next.UpdateRevision = set.Generation, Template(set)
	next.Replicas, next.ReadyReplicas, next.UpdatedReplicas, next.CurrentReplicas = int32(len(pods)+len(beyond)), 0, 0, 0
	for _, pod := range pods {
		if Ready(pod) {
			next.ReadyReplicas++
		}
		if Revision(pod) == next.UpdateRevision {
			next.UpdatedReplicas++
		}
		if Revision(pod) == next.CurrentRevision {
			next.CurrentReplicas++
		}
	}
	if rolls(set) && next.UpdatedReplicas == *set.Spec.Replicas && next.ReadyReplicas == next.Replicas {
		next.CurrentRevision, next.CurrentReplicas = next.UpdateRevision, next.UpdatedReplicas
	}
	if next.CurrentRevision == set.Status.CurrentRevision && next.ObservedGeneration == set.Status.ObservedGeneration && next.UpdateRevision == set.Status.UpdateRevision &&
		next.Replicas == set.Status.Replicas && next.ReadyReplicas == set.Status.ReadyReplicas &&
		next.UpdatedReplicas == set.Status.UpdatedReplicas && next.CurrentReplicas == set.Status.CurrentReplicas {
		return
	}
	changed := *set
	changed.Status = next
	c.server.Put(api.Sets, &changed)
}
