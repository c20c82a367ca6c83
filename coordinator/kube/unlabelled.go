package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// unlabelledPage is how many pods that are not reduced yet are in memory at a time.
const unlabelledPage = 8

// Unlabelled finds, with the API server itself, the pods that have the label of a database, and
// adds the pools among their owners that have lost theirs to what is known about it. It returns how
// many such pods exist. A StatefulSet that is labelled as another database's, or that is gone, is
// left alone.
func Unlabelled(ctx context.Context, client kubernetes.Interface, o *ClusterObjects) (pods int, err error) {
	cluster := o.Cluster
	looked := map[string]*Pool{}
	for i := range o.Pools {
		looked[o.Pools[i].Name] = nil // its pods are known
	}
	labelled := metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + cluster.Name, Limit: unlabelledPage}
	err = Pages(labelled, func(options metav1.ListOptions) (string, error) {
		list, err := client.CoreV1().Pods(cluster.Namespace).List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("list the pods of %s: %w", cluster.Name, err)
		}
		pods += len(list.Items)
		for i := range list.Items {
			if err := o.addUnlabelled(ctx, client, looked, &list.Items[i]); err != nil {
				return "", err
			}
		}
		return list.Continue, nil
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(o.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	sortPods(o.Pods)
	return pods, nil
}

func (o *ClusterObjects) addUnlabelled(ctx context.Context, client kubernetes.Interface, looked map[string]*Pool, whole *corev1.Pod) (err error) {
	owner := metav1.GetControllerOf(whole)
	if owner == nil || owner.Kind != "StatefulSet" {
		return nil
	}
	pool, known := looked[owner.Name]
	if !known {
		if pool, err = unlabelled(ctx, client, o.Cluster, owner.Name); err != nil {
			return err
		}
		if looked[owner.Name] = pool; pool != nil {
			o.Pools = append(o.Pools, *pool)
		}
	}
	if pool == nil {
		return nil
	}
	if pod := podOf(whole, *pool); pod != nil {
		o.Pods = append(o.Pods, *pod)
		if _, known := o.Nodes[pod.Node]; !known && pod.Node != "" {
			o.Nodes[pod.Node] = Node{Name: pod.Node}
		}
	}
	return nil
}

// unlabelled returns a StatefulSet as a pool of a database whose label it has lost. It returns nil
// for one that is not.
func unlabelled(ctx context.Context, client kubernetes.Interface, cluster *v1alpha1.DatabaseCluster, name string) (*Pool, error) {
	set, err := client.AppsV1().StatefulSets(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read StatefulSet %s: %w", name, err)
	}
	pool := poolOf(set)
	if pool.Cluster != "" && pool.Cluster != cluster.Name {
		return nil, nil
	}
	if pool.Replicas > MaxMissing {
		return nil, fmt.Errorf("StatefulSet %s wants %d pods, and of one that has lost its label at most %d are looked at", name, pool.Replicas, MaxMissing)
	}
	pool.Cluster = cluster.Name
	return pool, nil
}
