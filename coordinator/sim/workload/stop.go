package workload

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// terminate ends a pod: the stop hook, then the database, then the agent, all
// within the grace period.
func (k *Kubelets) terminate(name string, uid types.UID) {
	r := k.pods[uid]
	if r == nil {
		k.server.Drop(api.Pods, name) // it never had a node
		return
	}
	if r.stopping || k.down[r.node] {
		return
	}
	r.stopping = true
	stopped := false
	stop := func(line string) {
		if stopped {
			return
		}
		stopped = true
		k.loop.Log("kubelet", "stops %s: %s", name, line)
		k.stopDatabase(r)
	}
	k.loop.In(Grace, func() { stop("the grace period is over") })
	if r.Agent == nil || !r.started {
		stop("no stop hook")
		return
	}
	k.hub.StopHook(r.Agent, Grace, stop)
}

func (k *Kubelets) stopDatabase(r *Run) {
	k.loop.In(k.loop.Between(100*time.Millisecond, 1500*time.Millisecond), func() {
		k.db.Stop(r.pod, true)
		k.write(r.pod, r.uid, func(pod *corev1.Pod) {
			setCondition(&pod.Status, corev1.PodReady, false)
		})
		k.loop.In(k.loop.Between(20*time.Millisecond, 200*time.Millisecond), func() {
			k.end(r, false)
			k.loop.In(k.loop.Between(20*time.Millisecond, 300*time.Millisecond), func() {
				if k.pod(r.pod, r.uid) != nil {
					if k.Ephemeral {
						k.db.Lose(r.pod)
					}
					k.loop.Log("kubelet", "%s is gone", r.pod)
					k.server.Drop(api.Pods, r.pod)
				}
			})
		})
	})
}

// end frees what a pod had on its node.
func (k *Kubelets) end(r *Run, killed bool) {
	if r.Agent != nil {
		k.hub.Stop(r.Agent, killed)
		r.Agent = nil
	}
	if k.pods[r.uid] == r {
		delete(k.pods, r.uid)
		k.freed = append(k.freed, r.ip)
	}
}

// KillDatabase ends the database's process in a pod without a word.
func (k *Kubelets) KillDatabase(r *Run) {
	if r.stopping || !r.started || k.down[r.node] {
		return
	}
	k.db.Stop(r.pod, false)
	k.crashed(r)
}

// FailNode removes a node with everything that runs on it; the control plane notices later.
func (k *Kubelets) FailNode(node string) {
	k.down[node] = true
	for _, name := range k.server.Names(api.Pods) {
		r := k.pods[k.server.Pod(name).UID]
		if r == nil || r.node != node {
			continue
		}
		k.db.Stop(r.pod, false)
		if r.Agent != nil {
			k.hub.Stop(r.Agent, true)
			r.Agent = nil
		}
	}
	k.loop.In(k.loop.Between(30*time.Second, 50*time.Second), func() {
		if k.down[node] {
			k.nodeReady(node, corev1.ConditionUnknown)
		}
	})
}

// nodeReady writes a node's condition, and that its pods are not ready.
func (k *Kubelets) nodeReady(node string, is corev1.ConditionStatus) {
	if n := k.server.Node(node); n != nil {
		next := *n
		next.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is}}
		k.server.Put(api.Nodes, &next)
	}
	if is == corev1.ConditionTrue {
		return
	}
	for _, name := range k.server.Names(api.Pods) {
		if pod := k.server.Pod(name); pod.Spec.NodeName == node {
			k.write(name, pod.UID, func(pod *corev1.Pod) { setCondition(&pod.Status, corev1.PodReady, false) })
		}
	}
}

// ReturnNode brings a node back. Its pods' containers start again.
func (k *Kubelets) ReturnNode(node string) {
	if !k.down[node] {
		return
	}
	delete(k.down, node)
	k.nodeReady(node, corev1.ConditionTrue)
	for _, name := range k.server.Names(api.Pods) {
		pod := k.server.Pod(name)
		r := k.pods[pod.UID]
		switch {
		case r == nil || r.node != node:
		case pod.DeletionTimestamp != nil:
			r.stopping = true
			k.stopDatabase(r)
		default:
			k.startAgent(pod, r)
			if r.started {
				k.crashed(r)
			} else {
				k.loop.In(time.Second, func() { k.start(r) })
			}
		}
	}
}

// End stops all agents, at the end of a run.
func (k *Kubelets) End() {
	for _, r := range k.pods {
		if r.Agent != nil {
			k.hub.Stop(r.Agent, true)
		}
	}
}
