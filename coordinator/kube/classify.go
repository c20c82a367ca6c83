package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// shortRun is how long a container must have run for the kubelet to forget its earlier failures.
// Exits after shorter runs belong to one crash loop.
const shortRun = 10 * time.Minute

// state is the result of classify.
type state struct {
	phase   Phase
	since   time.Time
	problem Problem
}

// classify derives a pod's phase from its own status alone. container names the database container.
// It uses no clock: the same pod always gives the same result.
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
	if killedAtStart(pod, database) {
		return state{Failed, changed(pod, corev1.PodReady, created), StartupProbe}
	}
	if crashLoops(database) {
		return state{Failed, changed(pod, corev1.PodReady, created), CrashLoop}
	}
	// A restart of the container does not begin the phase again, because a container that keeps
	// restarting must be late at some time.
	since := changed(pod, corev1.PodReady, created)
	if r := database.State.Running; r != nil && database.RestartCount == 0 && r.StartedAt.After(since) {
		since = r.StartedAt.Time
	}
	return state{Started, since, besideDatabase(pod, container)}
}

// ranOnce reports whether a container's process has ever been started. A start that the runtime
// refused is recorded as a termination of a process that never was.
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

// crashLoops reports whether a container that ran and is not ready keeps failing. One crash is not
// yet a loop: a database that lost the race for a dependency at its first start is fine at its
// second, and one that ran for a month and was killed for its memory is back in a moment, whatever
// happened a year before.
func crashLoops(c *corev1.ContainerStatus) bool {
	switch {
	case c.State.Waiting != nil:
		// The kubelet restarts a container at once the first time it fails and
		// waits only from the second failure on.
		return c.State.Waiting.Reason == "CrashLoopBackOff" || c.RestartCount >= 1 && endedSoon(c.LastTerminationState.Terminated)
	case c.State.Terminated != nil:
		return c.RestartCount >= 1 && endedSoon(c.State.Terminated)
	}
	// It is running between two failures, if the last run was a short one.
	return c.RestartCount >= 2 && endedSoon(c.LastTerminationState.Terminated)
}

// endedSoon reports whether a run was short.
func endedSoon(run *corev1.ContainerStateTerminated) bool {
	return run != nil && run.FinishedAt.Sub(run.StartedAt.Time) < shortRun
}

// killedAtStart reports whether the kubelet keeps killing a container that does not pass its
// startup probe. The kubelet writes no reason of its own for that: the process ends by a signal
// (143, or 137 after the grace period), not before the probe may have failed often enough and not
// long after, and has not "started" since. A database that starts slowly runs longer than what
// counts as a short run, and waits for no back-off, so nothing else tells.
func killedAtStart(pod *corev1.Pod, c *corev1.ContainerStatus) bool {
	spec := containerNamed(pod.Spec.Containers, c.Name)
	last := c.LastTerminationState.Terminated
	if c.State.Terminated != nil {
		last = c.State.Terminated
	}
	if spec == nil || spec.StartupProbe == nil || last == nil || c.RestartCount < 2 || c.Started != nil && *c.Started {
		return false
	}
	if last.ExitCode != 137 && last.ExitCode != 143 || last.Reason == "OOMKilled" {
		return false
	}
	least, most := startWindow(spec.StartupProbe, pod.Spec.TerminationGracePeriodSeconds)
	ran := last.FinishedAt.Sub(last.StartedAt.Time)
	return ran >= least && ran <= most
}

// startWindow returns how long a container runs that its startup probe ends.
func startWindow(p *corev1.Probe, podGrace *int64) (least, most time.Duration) {
	const rounding = 2 * time.Second
	second := func(n int32, otherwise int32) time.Duration {
		if n <= 0 {
			n = otherwise
		}
		return time.Duration(n) * time.Second
	}
	period, failures := second(p.PeriodSeconds, 10), max(p.FailureThreshold, 1)
	delay := time.Duration(p.InitialDelaySeconds) * time.Second
	grace := 30 * time.Second
	for _, g := range []*int64{podGrace, p.TerminationGracePeriodSeconds} {
		if g != nil {
			grace = time.Duration(*g) * time.Second
		}
	}
	slowest := max(period, second(p.TimeoutSeconds, 1)) // a probe that hangs delays the next
	least = delay + time.Duration(failures-1)*period - rounding
	most = delay + time.Duration(failures+1)*slowest + grace + 10*time.Second
	return least, most
}

// isSidecar reports whether an init container runs as long as the pod does.
func isSidecar(pod *corev1.Pod, name string) bool {
	c := containerNamed(pod.Spec.InitContainers, name)
	return c != nil && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func containerNamed(list []corev1.Container, name string) *corev1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// neverStarted says why a scheduled pod's database container has not run yet.
func neverStarted(pod *corev1.Pod, database *corev1.ContainerStatus) Problem {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		switch p := brokenContainer(c); {
		case p == "":
		case c.Name == v1alpha1.AgentContainer, p == CrashLoop && isSidecar(pod, c.Name):
			return Sidecar
		case p == CrashLoop:
			return Init
		default:
			return p
		}
	}
	if c := condition(pod, corev1.PodReadyToStartContainers); c != nil && c.Status == corev1.ConditionFalse {
		return Volume
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
		// It is running between two failures, unless the last run ended well.
		if last := c.LastTerminationState.Terminated; c.State.Running != nil && last != nil && last.ExitCode != 0 && crashLoops(c) {
			return CrashLoop
		}
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

// asked returns when a pod's deletion was accepted. The deletion timestamp itself is when its grace
// period ends.
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
