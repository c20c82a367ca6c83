package kube

// Phase is the phase of a pod, based on its database container: the agent never makes a pod look
// failed. The zero value is unknown.
type Phase uint8

const (
	PhaseUnknown Phase = iota
	// Pending means that no node was found yet.
	Pending
	// NotStarted means that it has a node, but the database container never ran in this pod.
	NotStarted
	// Started means that the database container ran at least once and the pod is not Ready.
	Started
	// Ready means that the pod's own Ready condition says so.
	Ready
	// Terminating means that its deletion was accepted.
	Terminating
	// Failed means that the database container has failed repeatedly, or the pod as a whole has
	// ended.
	Failed
)

func (p Phase) String() string {
	return [...]string{"Unknown", "Pending", "NotStarted", "Started", "Ready", "Terminating", "Failed"}[p]
}

// Problem says why a pod is not where it should be. It is empty if nothing is known to be wrong
// with it.
type Problem string

const (
	CrashLoop Problem = "CrashLoop"
	// StartupProbe means that the kubelet kills the database repeatedly, because it does not pass
	// its startup probe in time.
	StartupProbe  Problem = "StartupProbe"
	ImagePull     Problem = "ImagePull"
	Config        Problem = "Config"
	Unschedulable Problem = "Unschedulable"
	// Init means that an init container fails.
	Init Problem = "Init"
	// Sidecar means that a container that is not the database fails, the agent included.
	Sidecar Problem = "Sidecar"
	// Volume means that no container can be created, because a volume or the pod's network is not
	// there yet. Every pod begins like this; only a long duration is a problem.
	Volume Problem = "Volume"
	// NodeGone means that the pod's node no longer exists or no longer answers.
	NodeGone Problem = "NodeGone"
	// Ended means that the kubelet or the node ended the pod (evicted, rejected, completed).
	Ended Problem = "Ended"
)
