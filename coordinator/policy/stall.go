package policy

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// A wait that a person, a window or a limit asked for is not a stall, nor is a wait only for such a
// wait.

// onRequest are the rules by which a person or a clock decides when to continue.
var onRequest = map[model.Rule]bool{
	model.RuleObserveOnly: true, model.RulePaused: true, model.RuleOutsideWindow: true, model.RuleFleetFull: true, model.RuleApproval: true, model.RuleCanary: true, model.RulePrimary: true,
}

// OnRequest reports whether a rule holds because a person or a clock decides when to continue. For
// canary see LostCanaries.
func OnRequest(rule model.Rule) bool { return onRequest[rule] }

// wait is what kind of hold a pod has.
type wait struct {
	onRequest bool
	others    bool
}

// onRequest reports whether the rule holds the candidate because a person or a clock decides.
// Canary pods that are not back are not something that anybody asked for.
func (d *decision) onRequest(rule model.Rule, c *candidate) bool {
	return onRequest[rule] && !(rule == model.RuleCanary && d.lostCanary(c.PoolPos))
}

// stalled reports whether there was no progress for too long, and not because somebody asked for
// that.
func (d *decision) stalled(p *model.Plan, claims int) bool {
	if !d.noProgress() {
		return false
	}
	if claims > 0 {
		return true
	}
	return len(p.Steps) == 0 && d.stuckForGood(p.Holds)
}

// stuckForGood reports whether a pod is held, and not on request. A pod that waits only for others
// in the order is left out while a pod is held on request and none is unavailable, because it waits
// for that one.
func (d *decision) stuckForGood(holds []model.Hold) bool {
	asked, waiting := false, false
	for _, h := range holds {
		switch {
		case h.Pod != "":
		case !onRequest[h.Rule]:
			return true
		default:
			asked = true
		}
	}
	heldOnRequest := make([]bool, len(d.x.Pods))
	for i := range d.order {
		c, w := &d.order[i], d.waits[i]
		switch {
		case d.isChosen[c.At]:
		case w.onRequest:
			asked, heldOnRequest[c.At] = true, true
		case w.others:
			waiting = true
		default:
			return true
		}
	}
	if !waiting {
		return false
	}
	for _, p := range d.ledger.Unavailable {
		if p.At == cluster.Unseen || !heldOnRequest[p.At] {
			return true
		}
	}
	return !asked
}

// lostCanary reports whether too few canary pods of a pool are back, for another reason than that
// they soak.
func (d *decision) lostCanary(pool int32) bool {
	most := int(d.x.Spec.Update.Canary.Pods)
	return most > 0 && len(d.canary[pool].back)+d.canary[pool].soaking < most
}

// LostCanaries returns the pools whose canary waits for pods that are not back, which is not a wait
// that anybody asked for.
func LostCanaries(s model.Snapshot) map[string]bool {
	d := newDecision(&s, "", false)
	lost := map[string]bool{}
	for i := range d.x.Pools {
		lost[d.x.Pools[i].Name] = d.lostCanary(int32(i))
	}
	return lost
}
