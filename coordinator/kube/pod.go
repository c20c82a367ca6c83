package kube

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/workload"
)

// Pod is what is kept of a pod that a pool owns.
type Pod struct {
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	Pool            string
	// Ordinal is its number in its pool, which ends the name.
	Ordinal int
	// Node is empty while the pod has none.
	Node string
	// IP is empty while the pod has none.
	IP       string
	Revision string
	// Created is when the API server created the object.
	Created time.Time
	// Guard is the value of the guard's label. It is empty without one.
	Guard string
	// GuardCluster names the DatabaseCluster that the guard belongs to. It is empty without one.
	GuardCluster string
	// Role is the value of LabelRole. It is empty without one.
	Role  string
	Claim string
	Unit  string

	Phase   Phase
	Since   time.Time
	Problem Problem
	// Agent is true if an agent's container is in this pod, running or not.
	Agent bool
	// Credentials is the Secret that its agent mounts. It is empty if there is none.
	Credentials string
	// Container is the database container, Image its image.
	Container string
	Image     string
	Restarts  int

	// Deleted is when the grace period ends. It is zero unless the pod is terminating.
	Deleted time.Time
	// GraceSeconds is the grace period of the pod's template.
	GraceSeconds int64

	// Shared are the labels that it shares with others of its revision, as sorted text, "a=b,c=d",
	// that is kept once for all of them.
	Shared string
	// ManyLabels is true if these are longer than maxLabels, and are not kept.
	ManyLabels bool

	Shape Shape
	// Replace is when somebody requested its replacement. It is zero if nobody has. NeverReplace is
	// true if it is not replaced when it fails.
	Replace      time.Time
	NeverReplace bool
	// Restart is true if somebody has requested its restart.
	Restart bool
	// NoVolume is true if it cannot start, because one of its volume claims does not exist.
	NoVolume bool
	// Tolerations are those that do not end by themselves, as JSON. It is empty if there are none.
	Tolerations string
}

// podOf reduces a pod to its facts. It returns nil if the pool does not own it.
func podOf(pod *corev1.Pod, pool Pool) *Pod {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.UID != pool.UID {
		return nil
	}
	ordinal, ok := ordinalOf(pod.Name, pool.Name)
	if !ok {
		return nil
	}
	container, image := databaseContainer(pod.Annotations, &pod.Spec)
	s := classify(pod, container)
	p := &Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Pool: pool.Name, Ordinal: ordinal, Node: pod.Spec.NodeName, IP: pod.Status.PodIP,
		Revision: pod.Labels[labelRevision], Created: pod.CreationTimestamp.Time, Guard: pod.Labels[v1alpha1.LabelGuard],
		GuardCluster: pod.Labels[v1alpha1.LabelGuardCluster], Role: pod.Labels[v1alpha1.LabelRole],
		Claim: bounded(pod.Annotations[v1alpha1.AnnotationClaim], maxName), Unit: bounded(pod.Annotations[v1alpha1.AnnotationUnit], maxName),
		Phase: s.phase, Since: s.since, Problem: s.problem,
		Agent: HasAgent(&pod.Spec), Container: container, Image: image,
	}
	p.Shared, p.ManyLabels = sharedLabels(pod.Labels)
	p.Shape, p.NoVolume = shapeOfPod(pod), lacksVolume(pod)
	p.Credentials = credentialsOf(&pod.Spec)
	p.Replace, p.NeverReplace = replaceAsked(pod)
	p.Tolerations = tolerations(pod.Spec.Tolerations)
	_, p.Restart = pod.Annotations[v1alpha1.AnnotationRestart]
	if c := containerStatus(pod.Status.ContainerStatuses, container); c != nil {
		p.Restarts = int(c.RestartCount)
	}
	if pod.DeletionTimestamp != nil {
		p.Deleted = pod.DeletionTimestamp.Time
	}
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		p.GraceSeconds = *g
	}
	return p
}

// credentialsOf returns the name of the Secret with which the agent's volume was created.
func credentialsOf(spec *corev1.PodSpec) string {
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; v.Name == v1alpha1.CredentialsVolume && v.Secret != nil {
			return shared(bounded(v.Secret.SecretName, maxName))
		}
	}
	return ""
}

// replaceAsked reads what somebody has noted on the pod about its replacement. A request without a
// readable time counts from the pod's creation.
func replaceAsked(pod *corev1.Pod) (at time.Time, never bool) {
	text, noted := pod.Annotations[v1alpha1.AnnotationReplace]
	if !noted || text == v1alpha1.ReplaceNever {
		return time.Time{}, noted
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at = pod.CreationTimestamp.Time
	}
	return at, false
}

// lacksVolume reads what the scheduler says about a pod whose volume claim is missing.
func lacksVolume(pod *corev1.Pod) bool {
	c := condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionFalse &&
		strings.Contains(c.Message, "persistentvolumeclaim \"") && strings.Contains(c.Message, "\" not found")
}

// ordinalOf returns the number that a StatefulSet gives to its pod.
func ordinalOf(pod, set string) (int, bool) {
	text, ok := strings.CutPrefix(pod, set+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == text
}

// databaseContainer returns the container that runs the database: the one that the annotation
// names, or else the one that looks like it.
func databaseContainer(annotations map[string]string, spec *corev1.PodSpec) (name, image string) {
	c, _ := workload.Container(annotations, spec)
	want := annotations[v1alpha1.AnnotationContainer]
	switch {
	case c == nil || want != "" && c.Name != want:
		return bounded(want, maxName), ""
	case c.Name == v1alpha1.AgentContainer:
		return "", ""
	}
	return c.Name, bounded(c.Image, maxImage)
}

// HasAgent reports whether an agent's container is in the pod, running or not.
func HasAgent(spec *corev1.PodSpec) bool {
	return AgentOf(spec) != nil || containerNamed(spec.Containers, v1alpha1.AgentContainer) != nil
}

// AgentOf returns the sidecar that injection adds, or nil if there is none.
func AgentOf(spec *corev1.PodSpec) *corev1.Container {
	return containerNamed(spec.InitContainers, v1alpha1.AgentContainer)
}
