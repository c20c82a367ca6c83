package effect

import "slices"

// Barrier says whose reports must be newer than the drain before a pod goes: the pod's own, and one
// from each group in which another member has an agent. For a pod that other agents have emptied,
// any agent will do.
type Barrier struct {
	Own *Target
	// Witnesses are all agents that can report. Groups says which of them can report for each
	// group.
	Witnesses []Target
	Groups    [][]string
}

// Missing returns a group for which nobody has reported, or the pod itself.
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
