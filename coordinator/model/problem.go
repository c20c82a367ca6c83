package model

// Problem names what is wrong with a pod. Other values than these are shown as
// they are, and are no evidence of anything.
type Problem string

// The problems that decisions know.
const (
	ProblemNone             Problem = ""
	ProblemCrashLoop        Problem = "CrashLoop"
	ProblemStartupProbe     Problem = "StartupProbe"
	ProblemImagePull        Problem = "ImagePull"
	ProblemConfig           Problem = "Config"
	ProblemUnschedulable    Problem = "Unschedulable"
	ProblemInit             Problem = "Init"
	ProblemSidecar          Problem = "Sidecar"
	ProblemVolume           Problem = "Volume"
	ProblemNodeGone         Problem = "NodeGone"
	ProblemStuckTerminating Problem = "StuckTerminating"
	ProblemEnded            Problem = "Ended"
)

// Wrong describes the problem; it is empty for an unknown one.
func (p Problem) Wrong() string { return problems[p].wrong }

// Advice says what to do about the problem; it is empty for an unknown one.
func (p Problem) Advice() string { return problems[p].advice }

// problems describes each problem and says what to do about it.
var problems = map[Problem]struct{ wrong, advice string }{
	ProblemCrashLoop: {
		"its database starts and ends again and again",
		"read the last lines of kubectl logs --previous, and correct the template or what they complain of",
	},
	ProblemStartupProbe: {
		"its database is killed again and again because it does not pass its startup probe in time",
		"find out in kubectl logs --previous what takes so long; where it only needs longer, raise failureThreshold of the startupProbe in the template",
	},
	ProblemImagePull: {
		"an image cannot be pulled",
		"correct the image or its pull secret in the template, or make the registry answer; kubectl describe pod names the image",
	},
	ProblemConfig: {
		"a container cannot be made from what its template says",
		"correct the template, or create the ConfigMap, Secret or key that kubectl describe pod names",
	},
	ProblemUnschedulable: {
		"no node takes it",
		"make room, or correct requests, affinity, tolerations or the volume's zone; kubectl describe pod says what each node lacks",
	},
	ProblemInit: {
		"an init container fails again and again",
		"read kubectl logs -c of the init container that kubectl describe pod names, and correct the template or what it waits for",
	},
	ProblemSidecar: {
		"a container beside the database fails, which keeps the pod from starting or from being Ready",
		"read kubectl logs -c of the container that kubectl describe pod names; for rollcall-agent see the runbook",
	},
	ProblemVolume: {
		"a volume cannot be attached or mounted, or the pod gets no network",
		"look for FailedAttachVolume, FailedMount or FailedCreatePodSandBox in kubectl describe pod; a volume that is still " +
			"attached to another node is let go when its VolumeAttachment is, or that node is back",
	},
	ProblemNodeGone: {
		"its node is gone, and nothing there reports that its containers have ended",
		"the node back; or, once the machine is surely off, delete its Node object, taint it node.kubernetes.io/out-of-service, " +
			"or name the pod in an override of node-gone, which deletes the pod by force",
	},
	ProblemStuckTerminating: {
		"it is terminating for longer than its grace period",
		"kubectl get pod -o yaml shows finalizers that nobody removes; else the kubelet's log of its node says what it waits for, often a volume",
	},
	ProblemEnded: {
		"its node ended it as a whole: evicted, rejected or shut down",
		"kubectl describe pod has the reason; the StatefulSet controller makes it again, unless something refuses to delete it",
	},
}
