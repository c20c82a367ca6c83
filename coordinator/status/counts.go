package status

import (
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// PodCounts are the pods of one database cluster, counted over all pools. A
// pod that is missing is neither current nor updated; away is what the policy
// counts, claimed pods included.
type PodCounts = v1alpha1.PodCounts

// CountPods counts the pods of a snapshot and of the plan made on it.
func CountPods(s model.Snapshot, plan model.Plan) PodCounts {
	c := PodCounts{Away: int32(plan.Budget.Pods.Away)}
	revision := make(map[string]model.Pool, len(s.Pools))
	for _, pool := range s.Pools {
		c.Desired += pool.Replicas
		revision[pool.Name] = pool
	}
	for _, pod := range s.Pods {
		switch {
		case !exists(pod):
		case updated(pod, revision[pod.Pool]):
			c.Updated++
		default:
			c.Current++
		}
		if pod.Phase == model.Ready {
			c.Ready++
		}
		if failed(pod) {
			c.Failed++
		}
	}
	return c
}

// failed is direct evidence that a pod cannot work as it is: it has failed, or
// something is wrong with it that has a name. A pod that only takes long is not
// counted; see Overdue.
func failed(pod model.Pod) bool {
	switch {
	case pod.Problem == model.NodeGone:
		return true
	case pod.Phase == model.Terminating:
		return pod.Problem == model.StuckEnding
	case pod.Phase == model.Ready:
		return false
	}
	return pod.Phase == model.Failed || pod.Problem.Wrong() != ""
}
