package workload

import corev1 "k8s.io/api/core/v1"

// Broken reports whether the database in a pod cannot come back by itself, whatever time it is
// given: no node takes the pod, its image is missing, it ends again and again, or it never joins.
func (k *Kubelets) Broken(pod *corev1.Pod) bool {
	r, fate := k.pods[pod.UID], k.Fate(pod)
	switch {
	case r == nil:
		node := k.Node(pod.Name)
		return pod.Spec.NodeName == "" && (fate == Unschedulable || k.down[node] || k.cordoned(node))
	case r.stopping || k.down[r.node]:
		return false
	case fate == NoImage:
		return !r.started
	}
	return fate == Crashes || fate == Mute
}
