package rollout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

const (
	databaseUnreachable = "it has no agent, and no other member is well whose agent could say whether it may go"
	leadersUnknown      = "it has no agent, and no other one has said that it may go: %s"
)

// onBehalf is who has handed over for a pod that has no agent.
type onBehalf struct {
	// passedOver is how many agents gave no answer. handoffBy is the agent that has handed over, or
	// empty if none has. retained are the groups that the pod still led after that.
	passedOver int
	handoffBy  string
	retained   map[string]bool
}

// handOffOnBehalf asks another pod's agent to hand over for a pod that is adopted. The pod gets its
// agent only by its own restart. An agent that does not answer is passed over.
func (a *step) handOffOnBehalf(claim model.Claim, r *attempt) {
	e := effect.HandoffOnBehalf{Claim: claim.ID, Pod: effect.Target{Pod: claim.Pod, UID: claim.UID}, Order: a.order(claim)}
	others := a.handoffAgents(claim)
	member, named := a.MemberNames[claim.Pod]
	why := ""
	switch {
	case len(others) > 0 && named:
		e.By, e.Member = &others[r.passedOver%len(others)], member
	case len(others) > 0:
		why = nameUnknown
	case a.mustBeAnswered(a.Snapshot):
		why = databaseUnreachable
	}
	if why != "" {
		a.failAtOnce(effect.HandedOff{Claim: claim.ID, Began: a.now, Err: errors.New(why)})
		return
	}
	a.effect(e)
}

func (a *step) learnHandedOff(res effect.HandedOff) {
	a.noteSuperseded(res.Err)
	r := a.done(res.Claim)
	if r == nil {
		return
	}
	if r.drainBegan.IsZero() {
		r.drainBegan = res.Began
	}
	problem := res.Progress.Detail
	if res.Err != nil {
		problem = res.Err.Error()
	}
	late := a.now.Sub(r.drainBegan) > handoffTimeout
	var own *effect.OwnAgentOnlyError
	switch {
	case res.Err == nil && res.Progress.State == model.DrainDone:
		r.handedOffBy(res.By)
	case errors.As(res.Err, &own):
		r.abandon(own.Why, model.RuleVeto)
	case late && a.mustBeAnswered(a.Snapshot):
		r.abandon(fmt.Sprintf(leadersUnknown, problem), model.RuleVeto)
	case late:
		a.out.warn("nobody could hand over for the pod, it goes as it is", "id", res.Claim, "pod", a.podOfClaim(res.Claim), "problem", problem)
		r.handedOffBy("")
	case res.Err != nil:
		r.passedOver++
		r.failed(a.now, res.Err)
	default:
		r.succeeded()
		r.problem = res.Progress.Detail
		r.retryAt = a.now.Add(firstRetry)
	}
}

// alone reports whether the pod serves and has no agent, and somebody can hand over for it or must
// say that it may go. If no pod has an agent yet, the coordinator hands over. A primary that restarts
// in place needs no handover.
func (a *step) alone(claim model.Claim) bool {
	pod := podNamed(a.Snapshot, claim.Pod)
	switch {
	case pod == nil || pod.Agent, a.Snapshot.Cluster.AdoptsInPlace():
		return false
	case a.mustBeAnswered(a.Snapshot): // a primary may be busy, and may have been broken before
		return pod.Phase == model.PodPhaseReady || pod.Phase == model.PodPhaseStarted && !broken(claim)
	case broken(claim) || pod.Phase != model.PodPhaseReady:
		return false
	}
	if _, named := a.MemberNames[claim.Pod]; named && len(a.handoffAgents(claim)) > 0 {
		return true
	}
	return withoutAgents(a.Snapshot)
}

// mustBeAnswered reports whether a pod without an agent may go only after another agent has said
// so. No agent exists while the first pods of a database are adopted; a person takes care of these.
func (a *step) mustBeAnswered(s model.Snapshot) bool {
	missing := slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Phase == model.PodPhaseMissing })
	return a.Engine.OwnAgentOnly && (missing || !withoutAgents(s))
}

// handedOffBy notes who has handed over for the pod. It is empty if nobody has and the pod goes as
// it is.
func (r *attempt) handedOffBy(by string) {
	r.succeeded()
	r.known.HandedOff, r.handoffBy = true, by
	if by != "" {
		r.backToBarrier()
	}
}

// observeHandoff checks whether a pod that was handed over still leads, according to those that
// have looked since. Somebody may have made it the leader again. An engine that lets a pod go as
// the leader says so twice.
func (a *step) observeHandoff(claim model.Claim, r *attempt) {
	if r.handoffBy == "" || !r.known.HandedOff || !r.lookedAt() {
		return
	}
	leads := groupsLedBy(a.Snapshot, claim.Pod)
	maps.DeleteFunc(r.retained, func(group string, _ bool) bool { return !leads[group] })
	for _, group := range slices.Sorted(maps.Keys(leads)) {
		if !r.retained[group] {
			a.handoffLost(r, leads, fmt.Sprintf("%s has handed over for it, and it leads %s", r.handoffBy, group))
			return
		}
	}
}

// handoffLost repeats the handoff. It ends the claim after too many of them.
func (a *step) handoffLost(r *attempt, leads map[string]bool, why string) {
	r.backToBarrier()
	r.known.HandedOff, r.handoffBy, r.retained = false, "", leads
	r.drainBegan, r.problem = time.Time{}, why
	switch r.lapses++; {
	case r.lapses <= maxLapses:
	case a.mustBeAnswered(a.Snapshot):
		r.abandon(fmt.Sprintf("that never lasted, %d times: %s", r.lapses, why), model.RuleVeto)
	default:
		a.out.warn("others make the pod the leader again and again, it goes as it is", "problem", why)
		r.known.HandedOff = true
	}
}

// handoffAgents returns the agents that can hand over for a claimed pod, those of updated pods
// first.
func (a *step) handoffAgents(claim model.Claim) []effect.Target {
	var updated, others []effect.Target
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		if pod.Name == claim.Pod || !pod.Agent || pod.Phase != model.PodPhaseReady || pod.Report == nil || pod.Report.Member != model.MembershipLive {
			continue
		}
		target := effect.Target{Pod: pod.Name, UID: pod.UID}
		if pod.Revision == claim.To {
			updated = append(updated, target)
		} else {
			others = append(others, target)
		}
	}
	return append(updated, others...)
}
