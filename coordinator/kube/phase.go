package kube

// Phase of a pod, seen from its database container: the agent beside it never
// makes a pod look failed. The zero value is unknown.
type Phase uint8

const (
	PhaseUnknown Phase = iota
	// Pending: no node was found yet.
	Pending
	// NotStarted: has a node, but the database container never ran in this pod.
	NotStarted
	// Started: the database container ran at least once and the pod is not Ready.
	Started
	// Ready: the pod's own Ready condition says so.
	Ready
	// Terminating: its deletion was accepted.
	Terminating
	// Failed: the database container ran and failed again and again, or the pod
	// as a whole has ended.
	Failed
)

func (p Phase) String() string {
	return [...]string{"Unknown", "Pending", "NotStarted", "Started", "Ready", "Terminating", "Failed"}[p]
}

// Problem names why a pod is not where it should be; empty when nothing is known
// to be wrong with it.
type Problem string

const (
	CrashLoop Problem = "CrashLoop"
	// StartupProbe: the kubelet kills the database again and again, because it does
	// not pass its startup probe in time.
	StartupProbe  Problem = "StartupProbe"
	ImagePull     Problem = "ImagePull"
	Config        Problem = "Config"
	Unschedulable Problem = "Unschedulable"
	// Init: an init container fails.
	Init Problem = "Init"
	// Sidecar: a container that is not the database fails, the agent included.
	Sidecar Problem = "Sidecar"
	// Volume: no container can be made, because a volume is not there yet, or the
	// pod's network. Every pod begins so; only its duration tells.
	Volume Problem = "Volume"
	// NodeGone: the pod's node no longer exists or no longer answers.
	NodeGone Problem = "NodeGone"
	// Ended: the kubelet or the node ended the pod (evicted, rejected, completed).
	Ended Problem = "Ended"
)
