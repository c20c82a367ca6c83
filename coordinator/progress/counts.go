package progress

import (
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// CountPods counts the pods of a snapshot and of the plan made on it.
func CountPods(s policy.Snapshot, plan policy.Plan) policy.PodCounts {
	c := policy.PodCounts{Away: int32(plan.Budget.Pods.Away)}
	revision := make(map[string]policy.Pool, len(s.Pools))
	for _, pool := range s.Pools {
		c.Desired += pool.Replicas
		revision[pool.Name] = pool
	}
	for _, pod := range s.Pods {
		switch {
		case !Exists(pod):
		case Updated(pod, revision[pod.Pool]):
			c.Updated++
		default:
			c.Current++
		}
		if pod.Phase == policy.Ready {
			c.Ready++
		}
		if Failed(pod) {
			c.Failed++
		}
	}
	return c
}

// Failed is direct evidence that a pod cannot work as it is: it has failed, or
// something is wrong with it that has a name. A pod that only takes long is not
// counted; see Overdue.
func Failed(pod policy.Pod) bool {
	switch {
	case pod.Problem == policy.NodeGone:
		return true
	case pod.Phase == policy.Terminating:
		return pod.Problem == policy.StuckEnding
	case pod.Phase == policy.Ready:
		return false
	}
	return pod.Phase == policy.Failed || pod.Problem.Wrong() != ""
}

// Updated says whether a pod runs its pool's update revision. While that
// revision is unknown nobody does, and nobody is out of date either.
func Updated(pod policy.Pod, pool policy.Pool) bool {
	return Exists(pod) && pool.Revision != "" && pod.Revision == pool.Revision
}

// Exists says whether there is an object of the pod.
func Exists(pod policy.Pod) bool { return pod.Phase != policy.Missing }
