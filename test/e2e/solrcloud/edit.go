package solrcloud

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
)

// Labelled is a chart with the label in the StatefulSet and in its pod template.
func Labelled(set *appsv1.StatefulSet) {
	manifests.LabelAll(set, Name)
}

// RollingUpdate is a chart with Kubernetes' own way of updating.
func RollingUpdate(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
}

// LabelledSet is the first step of an adoption: the label on the StatefulSet,
// which restarts nothing.
func LabelledSet(set *appsv1.StatefulSet) {
	manifests.Label(set, Name)
}

// Tag changes the version of the database.
func Tag(tag string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = image(tag) }
}

// Line names the partition.
func Line(partition int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
	}
}

// Annotated changes the pod template in a way that only restarts.
func Annotated(value string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { manifests.Annotate(set, value) }
}

// FromZero names the partition that Kubernetes would take, were the strategy left out.
func FromZero(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32)}
}
