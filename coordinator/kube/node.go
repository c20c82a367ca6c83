package kube

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// Node is what is kept of a node.
type Node struct {
	Name string
	// Labels are the node's. Each cluster says which of them is the zone.
	Labels   map[string]string
	Cordoned bool
	// Silent is true if its kubelet no longer reports.
	Silent bool
	Taints []Taint
	// PodCIDRs are those that Kubernetes has given to the node for its pods. Some network plugins
	// use other addresses.
	PodCIDRs []netip.Prefix
}

// Taint is a taint of a node. Since is zero if Kubernetes does not record it.
type Taint struct {
	Key    string
	Value  string
	Effect corev1.TaintEffect
	Since  time.Time
}

// Tolerates reports whether the pod tolerates the taint, for as long as it lasts.
func (p *Pod) Tolerates(t Taint) bool {
	var list []corev1.Toleration
	if p.Tolerations == "" || json.Unmarshal([]byte(p.Tolerations), &list) != nil {
		return false
	}
	taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
	return slices.ContainsFunc(list, func(o corev1.Toleration) bool { return o.ToleratesTaint(klog.Background(), &taint, true) })
}

// tolerations leaves out what Kubernetes adds to every pod: that it may stay for some minutes on a
// node that does not answer. A list that is too long counts as empty.
func tolerations(list []corev1.Toleration) string {
	var kept []corev1.Toleration
	for _, o := range list {
		if o.TolerationSeconds == nil {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	text, err := json.Marshal(kept)
	if err != nil || len(text) > maxLabels {
		return "" // a value of Kubernetes' own types always has a JSON form
	}
	return string(text)
}

func nodeOf(node *corev1.Node) *Node {
	n := &Node{Name: node.Name, Labels: node.Labels, Cordoned: node.Spec.Unschedulable}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			n.Silent = c.Status == corev1.ConditionUnknown
		}
	}
	for _, t := range node.Spec.Taints {
		taint := Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
		if t.TimeAdded != nil {
			taint.Since = t.TimeAdded.Time
		}
		n.Taints = append(n.Taints, taint)
	}
	cidrs := node.Spec.PodCIDRs
	if len(cidrs) == 0 && node.Spec.PodCIDR != "" {
		cidrs = []string{node.Spec.PodCIDR}
	}
	for _, text := range cidrs {
		if p, err := netip.ParsePrefix(text); err == nil {
			n.PodCIDRs = append(n.PodCIDRs, p.Masked())
		}
	}
	return n
}
