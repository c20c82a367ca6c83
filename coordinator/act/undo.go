package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// undo has an agent undo the prepare: while the pod is there only its own, and
// another once no agent of the pod can still be writing. Each has its share of the time,
// so that one that hangs leaves some to the others.
func (a *Actor) undo(ctx context.Context, at Situation, claim model.Claim, known run) func(*run) {
	here := whereabouts(at.Snapshot, claim) == Here
	if till := known.othersTill; !here && !till.IsZero() && !at.Now.After(till) { // they live on when the pod has gone
		return func(r *run) {
			r.succeeded()
			r.problem, r.retryAt = "another pod's agent may still be emptying it", till.Add(1)
		}
	}
	var problem error = errors.New("no agent is there to undo the prepare")
	targets := undoers(at, claim, here, known.notAfter)
	for _, target := range targets {
		bounded, cancel := context.WithTimeout(ctx, callTimeout/time.Duration(len(targets)))
		done, err := a.options.Agents.Restore(bounded, target, claim.ID, a.options.Epoch, claim.Undo)
		cancel()
		switch {
		case err != nil:
			problem = fmt.Errorf("undo the prepare through %s: %w", target.Pod, err)
			continue
		case done:
			return func(r *run) { r.succeeded(); r.heard.Undone = true }
		}
		return func(r *run) {
			r.succeeded()
			r.retryAt = time.Now().Add(pollEvery)
		}
	}
	corrected := !here && judgeReturn(at, claim).superseded && len(living(at.Snapshot)) == 0
	nobody := unattended(at.Snapshot)
	if nobody {
		switch hidden, err := a.attended(ctx); {
		case err != nil:
			problem, nobody = err, false
		case len(hidden) > 0:
			problem, nobody = fmt.Errorf("no StatefulSet with the label %s: %s shows the pods that have an agent (%s)", v1alpha1.LabelCluster, a.options.Name, text(hidden)), false
		}
	}
	return func(r *run) {
		a.outrun(problem)
		r.failed(problem)
		// Nothing was changed, so an agent that does not answer holds nothing up. A
		// setting of the whole database has a record of its own, which stays.
		shares := sharedBy(&at.Cluster.Status, claim.ID) != nil
		r.heard.Undone = here && len(claim.Undo) == 0 && !shares
		r.heard.Left = corrected || nobody && (r.over || !shares)
	}
}

// undoers are the agents that may undo a claim's prepare, best first: that of
// the pod or of its successor, then the others that are well.
func undoers(at Situation, claim model.Claim, here bool, notAfter time.Time) []Target {
	const most = 3
	var first, others []Target
	for i := range at.Snapshot.Pods {
		pod := &at.Snapshot.Pods[i]
		if !pod.Agent || pod.UID == "" || pod.Phase == model.Terminating || pod.Phase == model.Missing {
			continue
		}
		target := Target{Pod: pod.Name, UID: pod.UID}
		switch {
		case pod.Name == claim.Pod:
			first = append(first, target)
		case pod.Phase == model.Ready && pod.Report != nil && pod.Report.Member == model.Live:
			others = append(others, target)
		}
	}
	if here && !at.Now.After(notAfter) {
		return first
	}
	all := append(first, others...)
	return all[:min(most, len(all))]
}

// confirm asks the API server itself whether the claimed pod is gone: a cache
// may be behind, or start from long ago, or not show it for want of a label.
func (a *Actor) confirm(ctx context.Context, at Situation, claim model.Claim) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	_, err := a.pods.read(ctx, claim.Pod, claim.UID)
	why := ""
	if err == nil && vanished(at.Snapshot, claim) {
		why, err = a.whyVanished(ctx, kube.SetOf(claim.Pod))
	}
	return func(r *run) {
		switch {
		case errors.Is(err, errGone):
			r.succeeded()
			r.heard.Confirmed = true
		case err != nil:
			r.failed(err)
		case why != "":
			r.heard.Hidden = true
			r.failed(errors.New("the pod is still there: " + why))
		default:
			r.heard.Hidden = true
			r.failed(errors.New("the pod is still there, although the cache does not show it"))
		}
	}
}
