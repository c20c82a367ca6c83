package act

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// going is what the policy says of a claimed pod that is still there.
type going struct {
	// wanted: the pod should still go.
	wanted bool
	// hold is why it may not go now; nil means that it may.
	hold *policy.Hold
}

func judgeGoing(s policy.Snapshot, claim policy.Claim) going {
	step, hold := policy.Recheck(s, claim.Pod)
	if pool := poolOf(s, claim.Pod); step == nil && hold == nil && rolls(pool) && !pool.Observed {
		if pool.Force {
			return going{wanted: true}
		}
		// Nobody is known to be out of date just now, perhaps because we have moved
		// the line: that is no reason to give up who is.
		hold = &policy.Hold{Pod: claim.Pod, Rule: policy.PoolUnobserved,
			Reason: "the StatefulSet controller has not looked at the newest change of " + pool.Name}
	}
	switch {
	case step == nil && hold == nil:
		return going{}
	case step != nil && replaces(claim) != (step.Action == policy.Replace) && !committed(claim):
		return going{} // nor in this way: a restart keeps the volume, a replacement does not
	}
	return going{wanted: true, hold: hold}
}

// returned is what the policy says of a claimed pod that has gone.
type returned struct {
	rejoined, back bool
	// failed: what the prepare changed need not wait for the pod any longer.
	failed bool
	// superseded: the successor is to go, too, and its own state is charged for
	// it, so that the claim would only keep a correction from it.
	superseded bool
	why        string
	recheck    time.Duration
}

func judgeReturn(at Situation, claim policy.Claim) returned {
	r := policy.Returned(at.Snapshot, claim)
	out := returned{
		rejoined: r.Joined, back: r.Done, failed: r.Failed, why: r.Why.Reason,
		recheck: time.Duration(r.RetryAfterSeconds) * time.Second,
	}
	pod := podNamed(at.Snapshot, claim.Pod)
	if r.Done || pod == nil || pod.Phase == policy.Missing || pod.UID == claim.UID || !slices.Contains(at.Plan.Order, claim.Pod) {
		return out
	}
	start := time.Duration(at.Snapshot.Cluster.Spec.Policy.StartSeconds) * time.Second
	late := pod.Since.Add(start + 1)
	out.superseded = r.Failed || r.Joined && awayByItself(pod) && !at.Now.Before(late)
	if wait := late.Sub(at.Now); wait > 0 && (out.recheck == 0 || wait < out.recheck) {
		out.recheck = wait
	}
	return out
}

// awayByItself: without any claim the pod would count as away.
func awayByItself(pod *policy.Pod) bool {
	r := pod.Report
	return pod.Phase != policy.Ready || pod.Agent && r == nil || r != nil && (r.Member != policy.Live || !r.Settled)
}
