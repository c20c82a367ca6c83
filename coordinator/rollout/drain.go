package rollout

import (
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// order returns the order for the agent of a claimed pod.
func (a *step) order(claim model.Claim) effect.Order {
	order := effect.Order{Claim: claim.ID, Epoch: a.s.epoch, Prepare: claim.Prepare, Primary: a.Snapshot.Cluster.SpecWithDefaults().Update.Primary, Eligible: policy.Successors(a.Snapshot, claim.Pod)}
	if record := settingOfClaim(&a.Record, claim.ID); record != nil {
		order.Setting = effect.ClusterSetting{Name: record.Name, Undo: record.Undo}
	}
	return order
}

func (a *step) planDrain(claim model.Claim) {
	to, order, err := a.address(claim)
	if err != nil {
		a.failAtOnce(effect.DrainPlanned{Claim: claim.ID, Err: err})
		return
	}
	a.effect(effect.PlanDrain{Claim: claim.ID, To: to, Order: order})
}

func (a *step) learnDrainPlanned(res effect.DrainPlanned) {
	a.noteSuperseded(res.Err)
	r := a.done(res.Claim)
	if r == nil {
		return
	}
	var own *effect.OwnAgentOnlyError
	switch {
	case errors.As(res.Err, &own):
		r.abandon(own.Why, model.RuleVeto)
	case res.Err != nil:
		r.failed(a.now, fmt.Errorf("plan the drain: %w", res.Err))
	default:
		r.succeeded()
		r.known.DrainPlanned, r.known.Undo, r.known.Setting = true, res.Undo, res.Setting
	}
}

func (a *step) drain(claim model.Claim) {
	to, order, err := a.address(claim)
	if err != nil {
		a.failAtOnce(effect.DrainAnswered{Claim: claim.ID, Began: a.now, Order: order, Err: err})
		return
	}
	h := &a.s.attempts[claim.ID].handover
	if order.KeepWrites = h.keeps; !h.keeps {
		h.asked(a.now)
	}
	a.effect(effect.Drain{Claim: claim.ID, To: to, Order: order, Undo: claim.Undo})
}

func (a *step) learnDrainAnswered(res effect.DrainAnswered) {
	a.noteSuperseded(res.Err)
	r := a.done(res.Claim)
	if r == nil {
		return
	}
	r.ordered(res.Order, res.Err)
	r.handover.answered(res)
	if r.drainBegan.IsZero() {
		r.drainBegan = res.Began
	}
	switch {
	case res.Err != nil:
		r.failed(a.now, fmt.Errorf("drain: %w", res.Err))
	case res.Progress.State == model.DrainDone:
		r.succeeded()
		r.known.Drained = DrainedBySelf
		if res.Order.For != (effect.Subject{}) {
			r.known.Drained = DrainedByOther
		}
		r.backToBarrier()
		a.out.Drains = append(a.out.Drains, a.now.Sub(r.drainBegan))
	case res.Progress.State == model.DrainRefused:
		r.abandon("drain refused: "+res.Progress.Detail, model.RuleVeto)
	default:
		r.succeeded()
		r.problem = res.Progress.Detail
		wait := min(firstRetry+a.now.Sub(r.drainBegan)/10, pollEvery)
		r.retryAt = a.now.Add(wait)
	}
}
