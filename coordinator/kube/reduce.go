package kube

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Reduce returns what a Cache would have of a database cluster that consisted of these objects of
// one namespace only.
func Reduce(cluster *v1alpha1.DatabaseCluster, sets []*appsv1.StatefulSet, pods []*corev1.Pod, nodes []*corev1.Node) ClusterObjects {
	o := ClusterObjects{Cluster: cluster, Nodes: map[string]Node{}}
	for _, set := range sets {
		if pool := poolOf(set); pool.Cluster == cluster.Name {
			o.Pools = append(o.Pools, *pool)
		}
	}
	slices.SortFunc(o.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	o.Pods = make([]Pod, 0, len(pods))
	for _, pod := range pods {
		for i := range o.Pools {
			if p := podOf(pod, o.Pools[i]); p != nil {
				o.Pods = append(o.Pods, *p)
			}
		}
	}
	sortPods(o.Pods)
	for _, pod := range o.Pods {
		for _, node := range nodes {
			if node.Name == pod.Node {
				o.Nodes[node.Name] = *nodeOf(node)
			}
		}
	}
	return o
}

func sortPods(pods []Pod) {
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}
