package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// relieveFor is how long other agents may take to hand over for a pod that has none.
// Then the pod goes as it is: nothing would be lost, only leaders elected. Where more is
// at stake, as with a primary that nobody would succeed, it stays: only an answer frees it.
const relieveFor = 30 * time.Second

const (
	nobodyKnows = "it has no agent, and no other member is well whose agent could say whether it may go"
	leadsUnsaid = "it has no agent, and no other one has said that it may go: %s"
)

// relieve has another pod's agent hand over for a pod that is adopted: its own
// restart brings its agent, and until then nobody in it can. One that gives no answer is
// passed over.
func (a *Actor) relieve(ctx context.Context, at Situation, claim model.Claim, known run) func(*run) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	order, began := a.order(at, claim), time.Now()
	by, progress, err := a.handOverFor(ctx, at, claim, order, known.passedOver)
	problem := progress.Detail
	if err != nil {
		problem = err.Error()
	}
	var held *OwnAgentOnlyError
	return func(r *run) {
		a.outrun(err)
		if r.prepareBegan.IsZero() {
			r.prepareBegan = began
		}
		late := time.Since(r.prepareBegan) > relieveFor
		switch {
		case err == nil && progress.State == model.DrainPrepared:
			r.relieved(by)
		case errors.As(err, &held):
			r.abandon(held.Why, model.Vetoed)
		case late && a.mustBeAnswered(at.Snapshot):
			r.abandon(fmt.Sprintf(leadsUnsaid, problem), model.Vetoed)
		case late:
			a.log.Warn("nobody could hand over for the pod, it goes as it is", "id", claim.ID, "pod", claim.Pod, "problem", problem)
			r.relieved("")
		case err != nil:
			r.passedOver++
			r.failed(err)
		default:
			r.succeeded()
			r.problem = progress.Detail
			r.retryAt = time.Now().Add(firstRetry)
		}
	}
}

// handOverFor asks one agent. Each that gives no answer is followed by the next.
func (a *Actor) handOverFor(ctx context.Context, at Situation, claim model.Claim, order Order, passedOver int) (by string, progress Progress, err error) {
	others := relievers(at, claim)
	member, named := at.Names[claim.Pod]
	switch {
	case len(others) > 0 && named:
		to := others[passedOver%len(others)]
		if progress, err = a.options.Agents.Relieve(ctx, to, order, member); err != nil {
			err = fmt.Errorf("hand over for it through %s: %w", to.Pod, err)
		}
		return to.Pod, progress, err
	case len(others) > 0:
		return "", progress, errors.New(nameUnknown)
	case a.mustBeAnswered(at.Snapshot):
		return "", progress, errors.New(nobodyKnows)
	}
	if progress, err = a.options.Agents.Unaided(ctx, Target{Pod: claim.Pod, UID: claim.UID}, order); err != nil {
		err = fmt.Errorf("hand over for it: %w", err)
	}
	return "the coordinator", progress, err
}

// alone: the pod serves and has no agent, and somebody can hand over for it, or must say
// that it may go. Where no pod has an agent yet, that is the coordinator.
func (a *Actor) alone(at Situation, claim model.Claim) bool {
	pod := podNamed(at.Snapshot, claim.Pod)
	switch {
	case pod == nil || pod.Agent:
		return false
	case a.mustBeAnswered(at.Snapshot): // a primary may be busy, and have been broken before
		return pod.Phase == model.Ready || pod.Phase == model.Started && !broken(claim)
	case broken(claim) || pod.Phase != model.Ready:
		return false
	}
	if _, named := at.Names[claim.Pod]; named && len(relievers(at, claim)) > 0 {
		return true
	}
	return unattended(at.Snapshot)
}

// mustBeAnswered: a pod without an agent goes only when another one has said that it may. There is
// none while the first pods of a database are adopted: a person sees to these.
func (a *Actor) mustBeAnswered(s model.Snapshot) bool {
	missing := slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Phase == model.Missing })
	return a.options.OwnAgentOnly && (missing || !unattended(s))
}

// relieved notes who has handed over for the pod; empty: nobody, it goes as it is.
func (r *run) relieved(by string) {
	r.succeeded()
	r.heard.Relieved, r.relievedBy = true, by
	if by != "" {
		r.backToBarrier()
	}
}

// lookAtRelieved looks whether a pod that was relieved leads, as those say who have looked since:
// somebody may have made it the leader again. An engine that lets a pod go as the leader
// says so twice.
func (a *Actor) lookAtRelieved(at Situation, claim model.Claim, r *run) {
	if r.relievedBy == "" || !r.heard.Relieved || !r.heard.Observed || r.heard.Sent || r.giveUp != "" {
		return
	}
	leads := ledBy(at.Snapshot, claim.Pod)
	maps.DeleteFunc(r.retained, func(group string, _ bool) bool { return !leads[group] })
	for _, group := range slices.Sorted(maps.Keys(leads)) {
		if !r.retained[group] {
			a.relapse(at, r, leads, fmt.Sprintf("%s has handed over for it, and it leads %s", r.relievedBy, group))
			return
		}
	}
}

// relapse has the pod relieved once more, which must end some time.
func (a *Actor) relapse(at Situation, r *run, leads map[string]bool, why string) {
	r.backToBarrier()
	r.heard.Relieved, r.relievedBy, r.retained = false, "", leads
	r.prepareBegan, r.problem = time.Time{}, why
	switch r.lapses++; {
	case r.lapses <= maxLapses:
	case a.mustBeAnswered(at.Snapshot):
		r.abandon(fmt.Sprintf("that never lasted, %d times: %s", r.lapses, why), model.Vetoed)
	default:
		a.log.Warn("others make the pod the leader again and again, it goes as it is", "problem", why)
		r.heard.Relieved = true
	}
}

// unattended: no pod has an agent, so nobody can undo anything. The first agent
// that starts undoes what it finds of claims that are not open.
func unattended(s model.Snapshot) bool {
	return !slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Agent && p.Phase != model.Missing })
}

// relievers are the agents that can hand over for a claimed pod, those of
// updated pods first.
func relievers(at Situation, claim model.Claim) []Target {
	var updated, others []Target
	for i := range at.Snapshot.Pods {
		pod := &at.Snapshot.Pods[i]
		if pod.Name == claim.Pod || !pod.Agent || pod.Phase != model.Ready || pod.Report == nil || pod.Report.Member != model.Live {
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
