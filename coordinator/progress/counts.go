package progress

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// CountPods counts the pods of a snapshot and of the plan made on it.
func CountPods(s model.Snapshot, plan model.Plan) model.PodCounts {
	c := model.PodCounts{Away: int32(plan.Budget.Pods.Away)}
	revision := make(map[string]model.Pool, len(s.Pools))
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
		if pod.Phase == model.PodPhaseReady {
			c.Ready++
		}
		if Failed(pod) {
			c.Failed++
		}
	}
	return c
}

// Failed reports direct evidence that a pod cannot work as it is: it has failed, or it has a named
// problem. A pod that only takes long is not counted; see OverduePods.
func Failed(pod model.Pod) bool {
	switch {
	case pod.Problem == model.ProblemNodeGone:
		return true
	case pod.Phase == model.PodPhaseTerminating:
		return pod.Problem == model.ProblemStuckTerminating
	case pod.Phase == model.PodPhaseReady:
		return false
	}
	return pod.Phase == model.PodPhaseFailed || pod.Problem.Wrong() != ""
}

// Updated reports whether a pod runs its pool's update revision. While that revision is unknown no
// pod does, and none is outdated either.
func Updated(pod model.Pod, pool model.Pool) bool {
	return Exists(pod) && pool.Revision != "" && pod.Revision == pool.Revision
}

// Exists reports whether the pod exists in the API server.
func Exists(pod model.Pod) bool { return pod.Phase != model.PodPhaseMissing }
