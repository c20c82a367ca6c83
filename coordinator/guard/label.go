package guard

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// LabelChange is a pod, as it was seen, whose labels are to be changed.
type LabelChange struct {
	Pod             string
	UID             types.UID
	ResourceVersion string
	// Guard and Cluster are the new labels. If both are empty, the labels are removed.
	Guard   string
	Cluster string
}

// labelChanges returns the changes for the pods of one database cluster.
//
// A guard that is open stays open: either a claim has opened it, and the coordinator closes it
// again, or a person has, who wants the pod to go. A recreated pod is closed again.
func labelChanges(mode Mode, cluster string, claims []model.Claim, pods []kube.Pod) []LabelChange {
	var changes []LabelChange
	for i := range pods {
		pod := &pods[i]
		// The coordinator is about to change a claimed pod. A change here would only send it back
		// to the beginning.
		if !pod.Deleted.IsZero() || isClaimed(pod, claims) && mode != Unguarded {
			continue
		}
		want, of := pod.Guard, cluster
		switch mode {
		case Unguarded:
			want, of = "", ""
		case Audited:
			want = unlessOpen(pod, v1alpha1.GuardAudit)
		case Closed:
			want = unlessOpen(pod, v1alpha1.GuardClosed)
		}
		if pod.Guard != want || pod.GuardCluster != of {
			changes = append(changes, LabelChange{Pod: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, Guard: want, Cluster: of})
		}
	}
	return changes
}

// isClaimed reports whether the claim that is noted on the pod is open. A claim that is not open
// was left behind by a coordinator that is gone, and means nothing.
func isClaimed(pod *kube.Pod, claims []model.Claim) bool {
	return pod.Claim != "" && slices.ContainsFunc(claims, func(c model.Claim) bool { return c.ID == pod.Claim && c.UID == string(pod.UID) })
}

func unlessOpen(pod *kube.Pod, value string) string {
	if pod.Guard == v1alpha1.GuardOpen {
		return pod.Guard
	}
	return value
}
