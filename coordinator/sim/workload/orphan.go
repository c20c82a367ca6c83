package workload

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// Orphan deletes a StatefulSet and leaves its pods, as kubectl delete
// --cascade=orphan does. What it answers applies it again as it is written by then: a new
// object, without what others have noted on it.
func Orphan(server *api.Server, name string, template func() string) func() {
	set := server.Set(name)
	if set == nil {
		return nil
	}
	server.Drop(api.Sets, name)
	for _, pod := range server.Names(api.Pods) {
		if p := server.Pod(pod); p.Labels["app"] == name {
			next := *p
			next.OwnerReferences = nil
			server.Put(api.Pods, &next)
		}
	}
	return func() {
		next := set.DeepCopy()
		next.UID, next.Annotations, next.Generation = types.UID(fmt.Sprintf("%s-again-%s", name, set.ResourceVersion)), nil, 1
		revision := template()
		next.Spec.Template.Labels[labelTemplate] = revision
		if r := next.Spec.UpdateStrategy.RollingUpdate; r != nil {
			r.Partition = nil
		}
		next.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: revision, CurrentRevision: revision}
		_ = server.Create(api.Sets, next)
	}
}

// adopt makes a set the owner of pods that have none.
func (c *Controller) adopt(set *appsv1.StatefulSet) {
	for _, name := range c.server.Names(api.Pods) {
		pod := c.server.Pod(name)
		if pod.Labels["app"] != set.Name || pod.DeletionTimestamp != nil || metav1.GetControllerOf(pod) != nil {
			continue
		}
		next := *pod
		next.OwnerReferences = slices.Clone(owners(set))
		c.server.Put(api.Pods, &next)
	}
}

func owners(set *appsv1.StatefulSet) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: &yes}}
}

// Label gives a set a label, or removes it if the value is empty.
func Label(server *api.Server, name, label, value string) {
	set := server.Set(name)
	if set == nil {
		return
	}
	next := set.DeepCopy()
	delete(next.Labels, label)
	if value != "" {
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		next.Labels[label] = value
	}
	server.Put(api.Sets, next)
}
