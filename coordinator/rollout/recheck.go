package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// going is what the policy says about a claimed pod that still exists.
type going struct {
	// wanted is true if the pod should still go, in the way in which it was claimed.
	wanted bool
	// why is the reason if it should not.
	why string
	// hold is why it may not go now. It is nil if it may.
	hold *model.Hold
	// unasked is true if the pod is broken now and its going makes nothing unavailable, so nobody
	// waits for its drain.
	unasked bool
}

func judgeGoing(s model.Snapshot, claim model.Claim) going {
	step, hold := policy.Recheck(s, claim.Pod)
	if pool := poolOf(s, claim.Pod); step == nil && hold == nil && rolls(pool) && !pool.Observed {
		if pool.Force {
			return going{wanted: true}
		}
		// No pod is known to be outdated right now, perhaps because we have moved the partition.
		// That is no reason to give up a claim.
		hold = &model.Hold{Pod: claim.Pod, Rule: model.RulePoolUnobserved,
			Reason: "the StatefulSet controller has not looked at the newest change of " + pool.Name}
	}
	switch {
	case step == nil && hold == nil:
		return going{why: "the pod need not go any more"}
	case step == nil || committed(claim) || forced(s, claim):
		return going{wanted: true, hold: hold}
	}
	if more := asksForMore(claim, *step); more != "" {
		return going{why: more}
	}
	return going{wanted: true, unasked: step.Prepare == model.PrepareNone && step.OutsideBudget}
}

// asksForMore says in which way a step asks for more than was claimed, or for something else. It
// returns an empty reason if the claim will do. A pod that was broken when it was claimed may serve
// again, and is then drained like any other.
func asksForMore(claim model.Claim, step model.Step) string {
	switch {
	case drainWeight(step.Prepare) > drainWeight(claim.Prepare):
		return fmt.Sprintf("it was claimed with drain %s, and needs %s now", orNone(claim.Prepare), step.Prepare)
	case outcome(step.Action) != outcome(claim.Action),
		step.Action == model.ActionLowerPartition && claim.Action != model.ActionLowerPartition:
		return fmt.Sprintf("it was claimed for %s, and is to go for %s now", claim.Action, step.Action)
	}
	return ""
}

// drainWeight orders drains by how much they move off a pod.
func drainWeight(p model.Prepare) int {
	switch p {
	case model.PrepareEvacuate:
		return 2
	case model.PrepareHandoff:
		return 1
	}
	return 0
}

func orNone(p model.Prepare) model.Prepare {
	if p == "" {
		return model.PrepareNone
	}
	return p
}

// outcome is what becomes of a pod by an action: it comes back with its volumes, with new ones, or
// not at all.
func outcome(a model.Action) model.Action {
	if a == model.ActionReplace || a == model.ActionRemove {
		return a
	}
	return model.ActionRestart
}

// returned is what the policy says about a claimed pod that has gone.
type returned struct {
	rejoined, back bool
	// failed is true if the changes of the drain no longer have to wait for the pod.
	failed bool
	// superseded is true if the recreated pod is to go, too, and its own state is charged, so that
	// the claim would only block a correction of it.
	superseded bool
	why        string
	recheck    time.Duration
}

func (a *step) judgeReturn(claim model.Claim) returned {
	r := policy.Returned(a.Snapshot, claim)
	out := returned{
		rejoined: r.Joined, back: r.Done, failed: r.Failed, why: r.Why.Reason,
		recheck: time.Duration(r.RetryAfterSeconds) * time.Second,
	}
	pod := podNamed(a.Snapshot, claim.Pod)
	if r.Done || pod == nil || pod.Phase == model.PodPhaseMissing || pod.UID == claim.UID || !slices.Contains(a.plan.Order, claim.Pod) {
		return out
	}
	start := time.Duration(a.Snapshot.Cluster.Spec.Policy.StartSeconds) * time.Second
	late := pod.Since.Add(start + 1)
	out.superseded = r.Failed || r.Joined && unavailableByItself(pod) && !a.now.Before(late)
	if wait := late.Sub(a.now); wait > 0 && (out.recheck == 0 || wait < out.recheck) {
		out.recheck = wait
	}
	return out
}
