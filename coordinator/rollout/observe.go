package rollout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// observe asks the pod and its witnesses for new reports, and the pod to confirm its drain. The
// snapshot of the next step contains what they saw, and is decided on again.
func (a *step) observe(claim model.Claim, r *attempt) {
	going := claim
	if r.restarts {
		going = asRestart(claim) // nobody has to confirm that it is empty
	}
	e := effect.Observe{Claim: claim.ID, Barrier: barrierOf(a.Snapshot, going), Continues: r.continues(a.now)}
	if a.lastingDrain(claim, r) {
		to, order, err := a.address(claim)
		if err != nil {
			a.failAtOnce(effect.Observed{Claim: claim.ID, Err: err})
			return
		}
		r.handover.asked(a.now)
		e.Confirm = &effect.Drain{Claim: claim.ID, To: to, Order: order, Undo: claim.Undo}
	}
	a.effect(e)
}

func (a *step) learnObserved(res effect.Observed) {
	a.noteSuperseded(res.Err)
	r, claim := a.done(res.Claim), a.open(res.Claim)
	if r == nil || claim == nil {
		return
	}
	if res.Confirmed != nil {
		r.ordered(*res.Confirmed, res.Err)
	}
	switch {
	case res.Err != nil:
		r.backToBarrier()
		r.confirming = time.Time{} // when it answers again, nobody knows what its answer is based on
		r.failed(a.now, fmt.Errorf("ask whether it is still drained: %w", res.Err))
		r.held(a.now, r.problem)
	case res.Confirmed != nil && res.Progress.State == model.DrainRefused:
		r.abandon("drain refused: "+res.Progress.Detail, model.RuleVeto)
	case res.Confirmed != nil && res.Progress.State != model.DrainDone:
		r.unconfirmed(a.now, res.Progress.Detail, a.drainTimeout(*claim))
	case res.Missing != "":
		r.backToBarrier()
		r.failed(a.now, errors.New(res.Missing))
		r.held(a.now, res.Missing)
	default:
		r.succeeded()
		r.observedAt, r.led, r.confirming = a.now, nil, time.Time{}
	}
}

// continues reports whether the agent is checking that the pod is still drained and was asked a
// moment ago, so that its answer is no older than an observation may be.
func (r *attempt) continues(now time.Time) bool {
	return !r.confirming.IsZero() && now.Sub(r.askedAt) <= observationMaxAge
}

// unconfirmed notes that the agent is still checking whether the pod is drained. However slow the
// database is, that does not mean that the drain is lost. But a drain that nobody confirms for as
// long as a drain may take does not count.
func (r *attempt) unconfirmed(now time.Time, detail string, limit time.Duration) {
	if r.confirming.IsZero() {
		r.confirming = now
	}
	if limit > 0 && now.Sub(r.confirming) > limit {
		r.lapse(fmt.Sprintf("nobody has confirmed it for %s: %s", limit, detail))
		return
	}
	r.askedAt = now
	r.backToBarrier()
	r.succeeded()
	r.problem, r.retryAt = "its agent looks whether it is still drained: "+detail, now.Add(firstRetry)
}

// barrierOf returns the barrier of a claimed pod. A pod whose database does not run does not have
// to report itself, because its agent may not have started either. A pod that runs although it is
// considered broken must: it may only have been slow and have recovered. So must a pod that is not
// shown as started but whose agent reports, because Kubernetes may show its start late.
func barrierOf(s model.Snapshot, claim model.Claim) effect.Barrier {
	var b effect.Barrier
	agents := map[string]effect.Target{}
	claimed := podNamed(s, claim.Pod)
	byOthers := replaces(claim) && claimed != nil && claimed.UID == claim.UID && !hasAgent(claimed)
	for i := range s.Pods {
		pod := &s.Pods[i]
		if !pod.Agent || pod.UID == "" || pod.Phase == model.PodPhaseTerminating || pod.Phase == model.PodPhaseMissing {
			continue
		}
		target := effect.Target{Pod: pod.Name, UID: pod.UID}
		if pod.UID == claim.UID {
			if (containerRuns(pod) || agentReports(pod)) && !byOthers {
				b.Own = &target
			}
			continue
		}
		if pod.Phase == model.PodPhaseReady {
			agents[pod.Name] = target
		}
	}
	for _, group := range s.Groups {
		if !slices.ContainsFunc(group.Members, func(m model.Member) bool { return m.Pod == claim.Pod }) {
			continue
		}
		var speak []string
		for _, member := range group.Members {
			if target, ok := agents[member.Pod]; ok && !slices.Contains(speak, target.Pod) {
				speak = append(speak, target.Pod)
				if !slices.Contains(b.Witnesses, target) {
					b.Witnesses = append(b.Witnesses, target)
				}
			}
		}
		if len(speak) > 0 {
			b.Groups = append(b.Groups, speak)
		}
	}
	if byOthers {
		// Nobody has to see a member of it, but somebody must have looked.
		b.Witnesses, b.Groups = slices.Collect(maps.Values(agents)), append(b.Groups, slices.Sorted(maps.Keys(agents)))
	}
	slices.SortFunc(b.Witnesses, func(x, y effect.Target) int { return strings.Compare(x.Pod, y.Pod) })
	return b
}
