package workload

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

const (
	// LabelRevision is what the StatefulSet controller writes.
	LabelRevision = "controller-revision-hash"
	// labelTemplate on a template names the revision that is made of it.
	labelTemplate = "rev"
	// Database is the name of the database's container.
	Database = "db"
	// Grace is the pods' grace period.
	Grace = 30 * time.Second
)

// now is a time as objects of Kubernetes have it: in whole seconds.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// NewSet makes a StatefulSet whose template is a revision.
func NewSet(namespace, name, cluster, revision string, replicas int32) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1, Labels: map[string]string{v1alpha1.LabelCluster: cluster}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			PodManagementPolicy: appsv1.ParallelPodManagement,
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: revision, CurrentRevision: revision},
	}
	set.Spec.Template.Labels = map[string]string{"app": name, v1alpha1.LabelCluster: cluster, labelTemplate: revision}
	set.Spec.Template.Spec = podSpec(true)
	return set
}

func podSpec(agent bool) corev1.PodSpec {
	always, grace := corev1.ContainerRestartPolicyAlways, int64(Grace/time.Second)
	spec := corev1.PodSpec{
		Containers:                    []corev1.Container{{Name: Database, Image: "db:9.9.0"}},
		TerminationGracePeriodSeconds: &grace,
	}
	if agent {
		spec.InitContainers = []corev1.Container{{Name: v1alpha1.AgentContainer, Image: "agent:dev", RestartPolicy: &always}}
	}
	return spec
}

// newPod is what the controller creates. Without the webhook a pod gets neither
// guard nor agent.
func newPod(set *appsv1.StatefulSet, ordinal int, revision string, webhook bool) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: PodName(set, ordinal), CreationTimestamp: now(),
			Labels:          map[string]string{"app": set.Name, v1alpha1.LabelCluster: set.Spec.Template.Labels[v1alpha1.LabelCluster], LabelRevision: revision},
			OwnerReferences: owners(set),
		},
		Spec:   podSpec(webhook),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for i := range set.Spec.VolumeClaimTemplates {
		template := set.Spec.VolumeClaimTemplates[i].Name
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: template + "-" + pod.Name}}})
	}
	if webhook {
		pod.Labels[v1alpha1.LabelGuard] = v1alpha1.GuardClosed
	}
	return pod
}

// Revision of a pod.
func Revision(pod *corev1.Pod) string { return pod.Labels[LabelRevision] }

// Template is the revision that a set's template makes.
func Template(set *appsv1.StatefulSet) string { return set.Spec.Template.Labels[labelTemplate] }

// Ready is the pod's own condition.
func Ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Ordinal is the number at the end of a pod's name.
func Ordinal(pod string) int {
	n, err := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	if err != nil {
		panic(fmt.Sprintf("pod %q has no ordinal", pod))
	}
	return n
}

// setCondition notes a condition and when it changed.
func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, is bool) {
	value := corev1.ConditionFalse
	if is {
		value = corev1.ConditionTrue
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == kind {
			if c.Status != value {
				c.Status, c.LastTransitionTime = value, now()
			}
			return
		}
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: now()})
}

// PodName is the name of a set's pod.
func PodName(set *appsv1.StatefulSet, ordinal int) string {
	return set.Name + "-" + strconv.Itoa(ordinal)
}
