package kube

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Pool is what is kept of a StatefulSet that belongs to a database cluster.
type Pool struct {
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	// Cluster is the name of its DatabaseCluster.
	Cluster            string
	Generation         int64
	ObservedGeneration int64
	Replicas           int
	// Start is the first ordinal.
	Start int
	// Revision is the update revision, CurrentRevision what unchanged pods have.
	Revision        string
	CurrentRevision string
	// Strategy is OnDelete or RollingUpdate, Management OrderedReady or Parallel.
	Strategy   string
	Management string
	// Partition is counted from Start.
	Partition int
	// NoPartition is true if the strategy is RollingUpdate and has no partition. That is not the
	// same as 0: a pod that is recreated below status.currentReplicas comes back on the old
	// revision, so pods can only go in Kubernetes' own order.
	NoPartition bool
	// PartitionNote is the partition that Rollcall wrote last. It is empty if there is none.
	PartitionNote string
	// Image is that of the database container in the new template.
	Image  string
	Unit   string
	Paused bool
	Force  bool
	// AllowShutdown is true if a scale to 0 is intended.
	AllowShutdown bool
	// Deleting is true if the set itself is being deleted.
	Deleting bool
	// Joins is the name of the DatabaseCluster to which pods of the template belong, by its label.
	// It is empty without one.
	Joins string
	// Shape is that of the pods of the template.
	Shape Shape

	// Created is when the API server created the object.
	Created time.Time

	// selector selects the pool's pods. exact are the labels for which it requires one value.
	selector string
	exact    string
	// tooLong is the size of a selector that is longer than MaxSelector and is not kept.
	tooLong int
}

// Observed reports whether the status is about the current spec.
func (p Pool) Observed() bool { return p.ObservedGeneration >= p.Generation }

// Ordered reports whether somebody else has set the partition: it is not as Rollcall wrote it last.
// If Rollcall has not written any, it is no order.
func (p Pool) Ordered() bool {
	return p.PartitionNote != "" && p.PartitionNote != strconv.Itoa(p.Partition)
}

// Selector selects the pool's pods.
func (p Pool) Selector() string { return p.selector }

// refused says why the pods of a pool are not listed. It is empty if they are.
func (p Pool) refused() string {
	if p.tooLong == 0 {
		return ""
	}
	return fmt.Sprintf("its spec.selector takes %d KiB, and Rollcall asks with no selector above %d KiB: make it again with a shorter one, "+
		"or take its label %s off", p.tooLong>>10, MaxSelector>>10, v1alpha1.LabelCluster)
}

func poolOf(set *appsv1.StatefulSet) *Pool {
	p := &Pool{
		Namespace: set.Namespace, Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion,
		Cluster:    set.Labels[v1alpha1.LabelCluster],
		Generation: set.Generation, ObservedGeneration: set.Status.ObservedGeneration,
		Replicas: 1, Revision: set.Status.UpdateRevision, CurrentRevision: set.Status.CurrentRevision,
		Strategy: string(set.Spec.UpdateStrategy.Type), Management: string(set.Spec.PodManagementPolicy),
		PartitionNote: bounded(set.Annotations[v1alpha1.AnnotationPartition], maxName), Unit: bounded(set.Annotations[v1alpha1.AnnotationUnit], maxName),
		Paused: set.Annotations[v1alpha1.AnnotationPaused] == "true", Force: set.Annotations[v1alpha1.AnnotationForce] == "true",
		AllowShutdown: set.Annotations[v1alpha1.AnnotationAllowShutdown] == "true",
		Deleting:      set.DeletionTimestamp != nil, Created: set.CreationTimestamp.Time,
		Joins: set.Spec.Template.Labels[v1alpha1.LabelCluster],
	}
	if set.Spec.Replicas != nil {
		p.Replicas = int(*set.Spec.Replicas)
	}
	if o := set.Spec.Ordinals; o != nil {
		p.Start = int(o.Start)
	}
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		p.Partition = int(*r.Partition)
	}
	if p.Strategy == "" {
		p.Strategy = string(appsv1.RollingUpdateStatefulSetStrategyType)
	}
	p.NoPartition = p.Strategy == string(appsv1.RollingUpdateStatefulSetStrategyType) && set.Spec.UpdateStrategy.RollingUpdate == nil
	if p.Management == "" {
		p.Management = string(appsv1.OrderedReadyPodManagement)
	}
	p.Shape = shapeOfSet(set)
	template := &set.Spec.Template
	_, p.Image = databaseContainer(template.Annotations, &template.Spec)
	if size := SelectorSize(set.Spec.Selector); size > MaxSelector {
		p.tooLong = size
		return p
	}
	// A selector that cannot be read finds nothing; the API server admits no such set.
	if s, err := metav1.LabelSelectorAsSelector(set.Spec.Selector); err == nil && !s.Empty() {
		p.selector, p.exact = s.String(), exactly(set)
	}
	return p
}
