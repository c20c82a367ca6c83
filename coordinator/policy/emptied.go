package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "cmp"

// A claim of a replacement that says that its pod is empty cannot be given up, and its charge frees
// no other pod. So the rules that ration who may go do not hold it, nor do those that wait for pods
// that may wait for it: its pod counts as unavailable already, and has nothing that could be lost.
// What people ordered, what the database itself refuses, and what the groups would lose that it is
// still in, still hold it.

// sparesEmptied are the rules that do not hold a pod that is recorded as empty.
var sparesEmptied = map[model.Rule]bool{
	model.RuleFleetFull: true, model.RuleApproval: true, model.RuleCanary: true, model.RuleRolloutHalted: true, model.RuleNoLeader: true, model.RuleHealth: true,
	model.RuleOtherOperation: true, model.RuleOrderedReady: true, model.RuleNoReport: true, model.RuleStaleReport: true, model.RuleVersionOrder: true, model.RuleRankOrder: true, model.RuleLeaderLast: true,
	model.RuleZoneUnknown: true, model.RuleZoneBudget: true, model.RulePodBudget: true, model.RuleMoving: true,
}

// firstOfEmptied returns the first hold of a pod that is recorded as empty. Copies may be missing
// because this very pod is missing. But while the database does not work at all, or nobody knows,
// no volume is deleted.
func firstOfEmptied(holds []model.Hold, verdict model.Verdict) *model.Hold {
	for i := range holds {
		rule := holds[i].Rule
		if !sparesEmptied[rule] || rule == model.RuleHealth && verdict != model.VerdictYellow && verdict != model.VerdictRecoverable {
			return &holds[i]
		}
	}
	return nil
}

// writtenEmpty reports whether the claim replaces a pod and says that nothing is left on it.
func writtenEmpty(c *model.Claim) bool { return c.Action == model.ActionReplace && c.EmptiedAt != nil }

// isWrittenEmpty reports whether the pod exists and its claim says that it is empty.
func isWrittenEmpty(s *model.Snapshot, pod string) bool {
	claim := claimOn(s, pod)
	return claim != nil && writtenEmpty(claim) && isThere(s, claim)
}

func claimOn(s *model.Snapshot, pod string) *model.Claim {
	for i := range s.Cluster.Status.Claims {
		if c := &s.Cluster.Status.Claims[i]; c.Pod == pod {
			return c
		}
	}
	return nil
}

// isThere reports whether the very pod of the claim exists, and nobody has deleted it.
func isThere(s *model.Snapshot, claim *model.Claim) bool {
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Name == claim.Pod {
			return p.UID == claim.UID && p.Phase != model.PodPhaseMissing && p.Phase != model.PodPhaseTerminating
		}
	}
	return false
}

// withoutLaterEmptied returns the claims without those of other pods that are recorded as empty,
// still exist, and come after this one: two of them would count each other as unavailable for ever.
// The first goes by the pods that really exist, the next when the first is back.
func withoutLaterEmptied(s *model.Snapshot, pod string) []model.Claim {
	own := claimOn(s, pod)
	kept := make([]model.Claim, 0, len(s.Cluster.Status.Claims))
	for i := range s.Cluster.Status.Claims {
		c := &s.Cluster.Status.Claims[i]
		later := cmp.Or(c.StartedAt.Compare(own.StartedAt.Time), cmp.Compare(c.ID, own.ID)) > 0
		if c.Pod != pod && writtenEmpty(c) && later && isThere(s, c) {
			continue
		}
		kept = append(kept, *c)
	}
	return kept
}
