package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "cmp"

// neverEnds: the pod is terminating on a node that is gone, so that its object
// stays for ever, and with it the name that its successor needs.
func (x *index) neverEnds(p *pod) bool { return p.Phase == model.Terminating && x.nodeGone(p) }

// Forbidden says why nothing may be taken away, whatever it is; empty: it may.
func Forbidden(s *model.Snapshot) string {
	update := &s.Cluster.Spec.Update
	switch {
	case update.Paused || s.Cluster.Paused:
		return "everything is paused"
	case update.Mode == model.Observe:
		return "update.mode is Observe"
	case len(model.Validate(s)) > 0:
		return "the input makes no sense"
	}
	return ""
}

// ForceDeletes are the pods whose objects are to be deleted without anybody
// knowing that their containers have ended: those that are terminating on a node
// that is gone, and that a person has named in an override of node-gone. They
// need not be candidates, and may be claimed; that they are away is charged.
func ForceDeletes(s model.Snapshot) []model.Pod {
	over := activeOverrides(s.Cluster.Spec.Overrides, s.Now.Time)
	if len(over[model.OnDeadNode]) == 0 {
		return nil
	}
	x := newIndex(&s, "")
	if Forbidden(&s) != "" {
		return nil
	}
	var list []model.Pod
	for i := range x.pods {
		if p := &x.pods[i]; x.neverEnds(p) && p.UID != "" && over.of(model.OnDeadNode, p.Name) != nil {
			list = append(list, *p.Pod)
		}
	}
	return list
}

func nameOr(name, otherwise string) string { return cmp.Or(name, otherwise) }

// Wrong says in words what a problem means; empty for one that is not known.
func (p model.Problem) Wrong() string { return problems[p].wrong }

// Advice is what a person does about a problem; empty for one that is not known.
func (p model.Problem) Advice() string { return problems[p].advice }

// problems in words: what is wrong, and what a person does about it.
var problems = map[model.Problem]struct{ wrong, advice string }{
	model.CrashLoop: {
		"its database starts and ends again and again",
		"read the last lines of kubectl logs --previous, and correct the template or what they complain of",
	},
	model.StartupProbe: {
		"its database is killed again and again because it does not pass its startup probe in time",
		"find out in kubectl logs --previous what takes so long; where it only needs longer, raise failureThreshold of the startupProbe in the template",
	},
	model.ImagePull: {
		"an image cannot be pulled",
		"correct the image or its pull secret in the template, or make the registry answer; kubectl describe pod names the image",
	},
	model.BadConfig: {
		"a container cannot be made from what its template says",
		"correct the template, or create the ConfigMap, Secret or key that kubectl describe pod names",
	},
	model.Unschedulable: {
		"no node takes it",
		"make room, or correct requests, affinity, tolerations or the volume's zone; kubectl describe pod says what each node lacks",
	},
	model.InitFailed: {
		"an init container fails again and again",
		"read kubectl logs -c of the init container that kubectl describe pod names, and correct the template or what it waits for",
	},
	model.SidecarFailed: {
		"a container beside the database fails, which keeps the pod from starting or from being Ready",
		"read kubectl logs -c of the container that kubectl describe pod names; for rollcall-agent see the runbook",
	},
	model.VolumeStuck: {
		"a volume cannot be attached or mounted, or the pod gets no network",
		"look for FailedAttachVolume, FailedMount or FailedCreatePodSandBox in kubectl describe pod; a volume that is still " +
			"attached to another node is let go when its VolumeAttachment is, or that node is back",
	},
	model.NodeGone: {
		"its node is gone, and nobody there says that its containers have ended",
		"the node back; or, once the machine is surely off, delete its Node object, taint it node.kubernetes.io/out-of-service, " +
			"or name the pod in an override of node-gone, which deletes the pod by force",
	},
	model.StuckEnding: {
		"it is terminating for longer than its grace period",
		"kubectl get pod -o yaml shows finalizers that nobody removes; else the kubelet's log of its node says what it waits for, often a volume",
	},
	model.Ended: {
		"its node ended it as a whole: evicted, rejected or shut down",
		"kubectl describe pod has the reason; the StatefulSet controller makes it anew, unless something refuses to delete it",
	},
}

// about is what is wrong with a pod, to be added to a sentence.
func about(p *pod) string {
	if wrong := p.Problem.Wrong(); wrong != "" {
		return ": " + wrong
	}
	return ""
}

// orAdvice adds to what would end a wait what a person can do about the pod that
// is waited for.
func orAdvice(unblocks string, p *pod) string {
	advice := p.Problem.Advice()
	if p.notInTime {
		advice = cmp.Or(advice, unreadyAdvice)
	}
	if advice != "" {
		return unblocks + "; to do: " + advice
	}
	return unblocks
}
