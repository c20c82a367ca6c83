package rollout

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod that is replaced comes back under its name with fresh data. First its agent moves
// everything off it, until the database, asked through the pod and through others, has nothing left
// on it. That is recorded. Then its volume claims are deleted, which Kubernetes carries out once
// the pod is gone, and the pod is removed. What kept data off the pod is undone only when the
// recreated pod has volume claims of its own.

// notEmpty says what the database still has on a claimed pod, or why nobody knows. It returns an
// empty reason if there is nothing. It asks the pod's own agent and all others whose reports are
// fresh: the snapshot has every copy that any of them knows, and a copy in any state is data. A pod
// whose member is unavailable cannot look itself. Then its agent must say that it is empty, or the
// agent that emptied it must have said so (byOthers), and the pod's name in the database must be
// certain, or what others see there would look like another pod's. If no other pod has an agent any
// more, the pod's own word is enough for a claim that says that it is empty: others confirmed that
// when it was recorded, and they wait for this claim to be adopted.
func notEmpty(s model.Snapshot, claim model.Claim, names map[string]string, byOthers bool) string {
	own, others, members := "its own agent has not looked since", 0, 0
	looked := false
	if byOthers {
		if own = ""; names[claim.Pod] == "" {
			own = nameUnknown
		}
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		r := pod.Report
		spoke := r != nil && r.Self && r.Fresh && r.Member == model.MembershipLive
		switch {
		case pod.UID != claim.UID:
			if spoke {
				others++
			}
		case spoke:
			own, looked = "", true
		case r != nil && r.Self && r.Fresh && r.Member == model.MembershipNotLive && r.Drain == model.DrainDone && names[claim.Pod] != "":
			own = ""
		case r != nil && r.Self && r.Fresh:
			own = "the database does not have it as a member, and so cannot say what is on it"
		}
	}
	if own != "" {
		return own
	}
	if alone := claim.EmptiedAt != nil && looked && onlyAgent(s, claim.Pod); others == 0 && !alone {
		return "no other member of the database has looked since"
	}
	first := ""
	for _, group := range s.Groups {
		if group.Kind != model.GroupShard && group.Kind != model.GroupQuorum {
			continue // these lose nothing with a volume
		}
		for _, m := range group.Members {
			if m.Pod != claim.Pod {
				continue
			}
			if members++; first == "" {
				first = fmt.Sprintf("%s has a member on it that is %s", group.ID, m.State)
			}
		}
	}
	if members > 1 {
		first += fmt.Sprintf(", and %d more have", members-1)
	}
	return first
}
