package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// relieveFor is how long another agent may take to hand over for a pod that has
// none. Then the pod goes as it is: nothing would be lost, only leaders elected. Where
// more is at stake, as with a primary that nobody would succeed, an agent says so at
// once, and the pod stays (OwnAgentOnlyError).
const relieveFor = 30 * time.Second

// relieve has another pod's agent hand over for a pod that is adopted: its own
// restart brings its agent, and until then nobody in it can.
func (a *Actor) relieve(ctx context.Context, at Situation, claim policy.Claim) func(*run) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	order, began := a.order(at, claim), time.Now()
	progress, err := a.handOverFor(ctx, at, claim, order)
	var held *OwnAgentOnlyError
	return func(r *run) {
		a.outrun(err)
		if r.prepareBegan.IsZero() {
			r.prepareBegan = began
		}
		switch {
		case err == nil && progress.State == policy.DrainPrepared:
			r.succeeded()
			r.heard.Relieved = true
			r.backToBarrier()
		case errors.As(err, &held):
			r.abandon(held.Why, policy.Vetoed)
		case time.Since(r.prepareBegan) > relieveFor:
			a.log.Warn("nobody could hand over for the pod, it goes as it is", "id", claim.ID, "pod", claim.Pod, "detail", progress.Detail, "error", err)
			r.succeeded()
			r.heard.Relieved = true
		case err != nil:
			r.failed(fmt.Errorf("hand over for it: %w", err))
		default:
			r.succeeded()
			r.problem = progress.Detail
			r.retryAt = time.Now().Add(firstRetry)
		}
	}
}

func (a *Actor) handOverFor(ctx context.Context, at Situation, claim policy.Claim, order Order) (Progress, error) {
	if others := relievers(at, claim); len(others) > 0 {
		return a.options.Agents.Relieve(ctx, others[0], order, at.Names[claim.Pod])
	}
	return a.options.Agents.Unaided(ctx, Target{Pod: claim.Pod, UID: claim.UID}, order)
}

// alone: the pod serves and has no agent, and somebody can hand over for it.
// Where no pod has an agent yet, that is the coordinator.
func alone(at Situation, claim policy.Claim) bool {
	if claim.Reason == policy.ReasonNeverStarted || claim.Reason == policy.ReasonFailed {
		return false
	}
	if pod := podNamed(at.Snapshot, claim.Pod); pod == nil || pod.Agent || pod.Phase != policy.Ready {
		return false
	}
	if _, named := at.Names[claim.Pod]; named && len(relievers(at, claim)) > 0 {
		return true
	}
	return unattended(at.Snapshot)
}

// unattended: no pod has an agent, so nobody can undo anything. The first agent
// that starts undoes what it finds of claims that are not open.
func unattended(s policy.Snapshot) bool {
	return !slices.ContainsFunc(s.Pods, func(p policy.Pod) bool { return p.Agent && p.Phase != policy.Missing })
}

// relievers are the agents that can hand over for a claimed pod, those of
// updated pods first.
func relievers(at Situation, claim policy.Claim) []Target {
	var updated, others []Target
	for i := range at.Snapshot.Pods {
		pod := &at.Snapshot.Pods[i]
		if pod.Name == claim.Pod || !pod.Agent || pod.Phase != policy.Ready || pod.Report == nil || pod.Report.Member != policy.Live {
			continue
		}
		target := Target{Pod: pod.Name, UID: pod.UID}
		if pod.Revision == claim.To {
			updated = append(updated, target)
		} else {
			others = append(others, target)
		}
	}
	return append(updated, others...)
}
