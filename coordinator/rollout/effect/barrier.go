package effect

import "slices"

// Barrier says whose reports must be newer than the drain before a pod goes: its own, and for every
// group in which another member has an agent, one of those. For a pod that others have emptied
// anybody speaks.
type Barrier struct {
	Own *Target
	// Witnesses are all that can speak, Groups which of them can for each group.
	Witnesses []Target
	Groups    [][]string
}

// Missing returns a group for which nobody has spoken, or the pod itself.
func (b Barrier) Missing(spoke map[string]bool) (string, bool) {
	if b.Own != nil && !spoke[b.Own.Pod] {
		return "no fresh report from " + b.Own.Pod, true
	}
	for _, speak := range b.Groups {
		if !slices.ContainsFunc(speak, func(pod string) bool { return spoke[pod] }) {
			return "no fresh report from any of " + ListPods(speak), true
		}
	}
	return "", false
}

// ListPods names a few pods.
func ListPods(pods []string) string {
	const most = 5
	if len(pods) == 0 {
		return "the other pods: none is ready"
	}
	out := ""
	for i, pod := range pods {
		if i == most {
			return out + " and others"
		}
		if i > 0 {
			out += ", "
		}
		out += pod
	}
	return out
}
