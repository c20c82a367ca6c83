package oracle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// drained is whether people have pods leave a node, or until when they had.
type drained struct {
	is    bool
	until time.Duration
}

// leaves reports whether people have said that pods leave the node of a pod.
func (o *Oracle) leaves(pod *corev1.Pod) bool {
	cluster, node := o.server.Cluster(o.limits.Cluster), o.server.Node(pod.Spec.NodeName)
	return cluster != nil && cluster.Spec.Update.NodeDrains.Follow && (node == nil || node.Spec.Unschedulable)
}

// drains notes until when a pod was to leave its node.
func (o *Oracle) drains(pod *corev1.Pod) {
	if is := o.leaves(pod); is || o.drained[pod.UID].is {
		o.drained[pod.UID] = drained{is, o.loop.Now()}
	}
}

// toBeLeft reports whether people have said that pods leave its node, or had until a moment ago.
func (o *Oracle) toBeLeft(pod *corev1.Pod) bool {
	was, known := o.drained[pod.UID]
	return o.leaves(pod) || known && o.loop.Now()-was.until <= shown
}
