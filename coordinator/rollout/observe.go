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

// observe has the pod and the witnesses look again, and the pod confirm its drain. The snapshot of
// the next step contains what they saw, and is decided on again.
func (a *step) observe(claim model.Claim, r *attempt) {
	going := claim
	if r.restarts {
		going = asRestart(claim) // nobody needs to call it empty
	}
	e := effect.Observe{Claim: claim.ID, Barrier: barrierOf(a.Snapshot, going), Continues: r.continues(a.now)}
	if a.lastingDrain(claim, r) {
		to, order, err := a.address(claim)
		if err != nil {
			a.failAtOnce(effect.Observed{Claim: claim.ID, Err: err})
			return
		}
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
		r.confirming = time.Time{} // nobody knows what it has looked at when it answers again
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

// continues reports whether the agent looks whether the pod is still drained, and was asked a
// moment ago, so that what it says now is no older than a look may be.
func (r *attempt) continues(now time.Time) bool {
	return !r.confirming.IsZero() && now.Sub(r.askedAt) <= observationMaxAge
}

// unconfirmed notes that the agent looks whether the pod is still drained. That is no word of its
// end, however slow the database is; but a drain that nobody confirms for as long as one may take
// does not count.
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

// barrierOf is the barrier of a claimed pod. A pod whose database does not run need
// not speak for itself: its agent may not have started either. One that is said to be
// broken while it runs must: it may have been slow, and be well again. So must one that is
// not shown as started and whose agent speaks: what is shown may be late.
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
		// Nobody need see a member of it, and somebody must have looked.
		b.Witnesses, b.Groups = slices.Collect(maps.Values(agents)), append(b.Groups, slices.Sorted(maps.Keys(agents)))
	}
	slices.SortFunc(b.Witnesses, func(x, y effect.Target) int { return strings.Compare(x.Pod, y.Pod) })
	return b
}
