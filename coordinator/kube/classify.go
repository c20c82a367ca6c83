package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// shortRun is how long a container must have run for the kubelet to forget its
// earlier failures; exits after shorter runs belong to one crash loop.
const shortRun = 10 * time.Minute

// state is the outcome of classify.
type state struct {
	phase   Phase
	since   time.Time
	problem Problem
}

// classify derives a pod's phase from its own status alone. container names the
// database container. It looks at no clock: the same pod always gives the same
// answer, however late it is asked.
func classify(pod *corev1.Pod, container string) state {
	created := pod.CreationTimestamp.Time
	if pod.DeletionTimestamp != nil {
		return state{Terminating, asked(pod), ""}
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return state{Failed, changed(pod, corev1.PodReady, created), Ended}
	}
	if pod.Spec.NodeName == "" {
		s := state{Pending, created, ""}
		if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			s.problem = Unschedulable
		}
		return s
	}

	database := containerStatus(pod.Status.ContainerStatuses, container)
	if database == nil || !ranOnce(database) {
		return state{NotStarted, changed(pod, corev1.PodScheduled, created), neverStarted(pod, database)}
	}
	if c := condition(pod, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		return state{Ready, c.LastTransitionTime.Time, ""}
	}
	if crashLoops(database) {
		return state{Failed, changed(pod, corev1.PodReady, created), CrashLoop}
	}
	// A restart of the container does not begin the phase anew: what keeps
	// restarting must one day be late.
	since := changed(pod, corev1.PodReady, created)
	if r := database.State.Running; r != nil && database.RestartCount == 0 && r.StartedAt.After(since) {
		since = r.StartedAt.Time
	}
	return state{Started, since, besideDatabase(pod, container)}
}

// ranOnce tells whether a container's process has ever been started. A start
// that the runtime refused is recorded as a termination of a process that never was.
func ranOnce(c *corev1.ContainerStatus) bool {
	if c.State.Running != nil {
		return true
	}
	for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
		if t != nil && !refusedStart(t) {
			return true
		}
	}
	return false
}

func refusedStart(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "StartError" || t.Reason == "ContainerCannotRun"
}

// crashLoops tells whether a container that ran and is not ready keeps failing.
// One crash is not yet a loop: a database that lost the race for a dependency
// at its first start is all right at its second.
func crashLoops(c *corev1.ContainerStatus) bool {
	switch {
	case c.State.Waiting != nil:
		// The kubelet restarts a container at once the first time it fails and
		// waits only from the second failure on.
		return c.State.Waiting.Reason == "CrashLoopBackOff" || c.RestartCount >= 1
	case c.State.Terminated != nil:
		return c.RestartCount >= 1
	}
	// Running: between two failures, if the last run was a short one.
	last := c.LastTerminationState.Terminated
	return c.RestartCount >= 2 && last != nil && last.FinishedAt.Sub(last.StartedAt.Time) < shortRun
}

// neverStarted says why a scheduled pod's database container has not run yet.
func neverStarted(pod *corev1.Pod, database *corev1.ContainerStatus) Problem {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		switch p := brokenContainer(c); {
		case p == "":
		case c.Name == v1alpha1.AgentContainer:
			return Sidecar
		case p == CrashLoop:
			return Init
		default:
			return p
		}
	}
	if database == nil {
		return ""
	}
	if t := database.LastTerminationState.Terminated; t != nil && refusedStart(t) {
		return Config
	}
	return brokenContainer(database)
}

// besideDatabase names what else keeps a pod with a running database from being Ready.
func besideDatabase(pod *corev1.Pod, container string) Problem {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if c := &statuses[i]; c.Name != container && brokenContainer(c) != "" {
				return Sidecar
			}
		}
	}
	return ""
}

// brokenContainer names what is wrong with one container, from its state alone.
func brokenContainer(c *corev1.ContainerStatus) Problem {
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		if refusedStart(t) {
			return Config
		}
		return CrashLoop
	}
	if c.State.Waiting == nil {
		return ""
	}
	switch c.State.Waiting.Reason {
	case "CrashLoopBackOff":
		return CrashLoop
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError", "ErrImageNeverPull",
		"RegistryUnavailable", "SignatureValidationFailed":
		return ImagePull
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError",
		"PreStartHookError", "PostStartHookError":
		return Config
	}
	return ""
}

// asked is when a pod's deletion was accepted; the deletion timestamp itself is
// when its grace period ends.
func asked(pod *corev1.Pod) time.Time {
	at := pod.DeletionTimestamp.Time
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		at = at.Add(-time.Duration(*g) * time.Second)
	}
	return at
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func changed(pod *corev1.Pod, kind corev1.PodConditionType, otherwise time.Time) time.Time {
	if c := condition(pod, kind); c != nil && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	return otherwise
}

func containerStatus(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}
