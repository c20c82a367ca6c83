package policy

import "cmp"

// A claim of a replacement that says that its pod is empty can not be given up, and its
// charge frees nobody. So what rations who may go does not hold it, nor what waits for others
// that may wait for it: its pod is counted as away already, and has nothing that
// could be lost. What people ordered, what the database itself refuses, and what the
// groups lose that it is still in, hold it on.

// sparesEmptied are the rules that do not hold a pod that is written down as empty.
var sparesEmptied = map[Rule]bool{
	FleetFull: true, NeedsApproval: true, CanaryFirst: true, LineStopped: true, NoLeader: true, Unhealthy: true,
	OtherOperation: true, InOrder: true, NoReport: true, StaleReport: true, VersionOrder: true, RankOrder: true, LeaderLast: true,
	ZoneUnknown: true, ZonesAway: true, PodsAway: true, BeingMoved: true,
}

// firstOfEmptied is the first hold of a pod that is written down as empty. That copies are
// missing may be for want of this very pod; that the database works not at all, or that nobody knows,
// is no time to delete a volume.
func firstOfEmptied(holds []Hold, verdict Verdict) *Hold {
	for i := range holds {
		rule := holds[i].Rule
		if !sparesEmptied[rule] || rule == Unhealthy && verdict != Yellow && verdict != Recoverable {
			return &holds[i]
		}
	}
	return nil
}

// writtenEmpty: the claim replaces a pod and says that nothing is left on it.
func (c *Claim) writtenEmpty() bool { return c.Action == Replace && c.EmptiedAt != nil }

// isWrittenEmpty: the pod is there, and its claim says so.
func isWrittenEmpty(s *Snapshot, pod string) bool {
	claim := claimOn(s, pod)
	return claim != nil && claim.writtenEmpty() && isThere(s, claim)
}

func claimOn(s *Snapshot, pod string) *Claim {
	for i := range s.Cluster.Status.Claims {
		if c := &s.Cluster.Status.Claims[i]; c.Pod == pod {
			return c
		}
	}
	return nil
}

// isThere: the very pod of the claim is there, and nobody has deleted it.
func isThere(s *Snapshot, claim *Claim) bool {
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Name == claim.Pod {
			return p.UID == claim.UID && p.Phase != Missing && p.Phase != Terminating
		}
	}
	return false
}

// withoutLaterEmptied are the claims without those of other pods that are written
// down as empty, still there, and come after this one: two of them would count each
// other as away for ever. The first goes by who is there in fact, the next when it is back.
func withoutLaterEmptied(s *Snapshot, pod string) []Claim {
	own := claimOn(s, pod)
	kept := make([]Claim, 0, len(s.Cluster.Status.Claims))
	for i := range s.Cluster.Status.Claims {
		c := &s.Cluster.Status.Claims[i]
		later := cmp.Or(c.StartedAt.Compare(own.StartedAt.Time), cmp.Compare(c.ID, own.ID)) > 0
		if c.Pod != pod && c.writtenEmpty() && later && isThere(s, c) {
			continue
		}
		kept = append(kept, *c)
	}
	return kept
}
