package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Node is what is kept of a node.
type Node struct {
	Name string
	// Labels are the node's; which of them is the zone is for each cluster to say.
	Labels   map[string]string
	Cordoned bool
	// Silent: its kubelet no longer reports.
	Silent bool
	Taints []Taint
}

// Taint of a node. Since is zero where Kubernetes does not note it.
type Taint struct {
	Key   string
	Since time.Time
}

func nodeOf(node *corev1.Node) *Node {
	n := &Node{Name: node.Name, Labels: node.Labels, Cordoned: node.Spec.Unschedulable}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			n.Silent = c.Status == corev1.ConditionUnknown
		}
	}
	for _, t := range node.Spec.Taints {
		taint := Taint{Key: t.Key}
		if t.TimeAdded != nil {
			taint.Since = t.TimeAdded.Time
		}
		n.Taints = append(n.Taints, taint)
	}
	return n
}
