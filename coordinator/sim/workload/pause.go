package workload

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// unready is how long a process that does not answer stays ready.
var unready = [2]time.Duration{20 * time.Second, 35 * time.Second}

// Pause stops the database's process in a pod without ending it, and its agent if
// both; what it answers has them go on. silent is what the agent makes of the
// silence: see database.Freeze.
func (k *Kubelets) Pause(r *Run, both, silent bool) func() {
	if r.stopping || !r.started || k.down[r.node] || !k.db.Up(r.pod) {
		return nil
	}
	crashes := r.crashes
	k.db.Freeze(r.pod, silent)
	agent := r.Agent
	if both && agent != nil {
		agent.Stuck = true
	}
	over := false
	k.loop.In(k.loop.Between(unready[0], unready[1]), func() {
		if !over && !r.stopping && r.crashes == crashes {
			k.write(r.pod, r.uid, func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses[0].Ready = false
				setCondition(&pod.Status, corev1.PodReady, false)
			})
		}
	})
	return func() {
		over = true
		k.db.Thaw(r.pod)
		if both && agent != nil {
			agent.Stuck = false
		}
		k.probe(r, crashes)
	}
}
