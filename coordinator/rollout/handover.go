package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Clients that find the primary by its label are not to be sent to one that stops writes, and are to
// be sent to one that does not. So an agent stops them only on an order that is given while its pod
// has no such label. If it still waits after handoverTime, for a long transaction perhaps, it is told
// to keep writes. The pod gets its label back once the agent has confirmed that. When the agent says
// that it waits for nothing any more, the label is taken off, and then it may stop them.

// handover is what is known about writes while the agent of a primary is asked to drain it.
type handover struct {
	// began is when the agent was first told that it may stop writes, since it has kept them last. It
	// is zero if it has not been told.
	began time.Time
	// keeps is true if the agent is told to keep writes, kept if it has confirmed that since.
	keeps, kept bool
	// untold is true if the agent does not know such orders.
	untold bool
	// mayStopUntil is the time after which an agent that was told nothing else since stops no writes.
	mayStopUntil time.Time
}

// answered notes the answer to an order to drain.
func (h *handover) answered(res effect.DrainAnswered) {
	if !res.Order.KeepWrites {
		if h.began.IsZero() {
			h.began = res.Began
		}
		return
	}
	if res.Err != nil || !h.keeps || res.Progress.State != model.DrainRunning {
		return
	}
	switch res.Progress.Writes {
	case effect.WritesUntold:
		*h = handover{began: h.began, untold: true, mayStopUntil: h.mayStopUntil}
	case effect.WritesReady:
		*h = handover{mayStopUntil: h.mayStopUntil}
	default:
		h.kept = res.Progress.Writes == effect.WritesKept
	}
}

// asked notes that an order under which the agent may stop writes is sent. It may be carried out
// whatever becomes of the answer.
func (h *handover) asked(now time.Time) {
	h.mayStopUntil = now.Add(effect.CallTimeout + effect.WriteAhead)
}

// losePatience tells an agent that has waited for long to keep writes.
func (h *handover) losePatience(now time.Time) {
	if !h.keeps && !h.untold && !h.began.IsZero() && !now.Before(h.began.Add(handoverTime)) {
		h.keeps, h.kept = true, false
	}
}

// mayStop reports whether the agent may stop writes, and until when it may if nothing more is heard.
// An agent that does not know orders to keep them is taken at its report.
func (h *handover) mayStop(now time.Time) (until time.Time, may bool) {
	switch back := h.began.Add(handoverTime); {
	case h.untold:
		return back, now.Before(back)
	case h.keeps:
		return h.mayStopUntil, !h.kept && now.Before(h.mayStopUntil)
	case h.began.IsZero():
		return time.Time{}, true
	default:
		return back, true
	}
}

// noteHandover notes whether writes may stop in the pod of a claim.
func (a *step) noteHandover(claim model.Claim, r *attempt, c *Case) {
	h := &r.handover
	if c.handsOver() && c.mustDrain() && a.primaryGroup() != nil {
		h.losePatience(a.now)
	}
	until, may := h.mayStop(a.now)
	switch {
	case c.mustEnd() && c.mustRestore():
		// What the agent was told last may still be carried out.
		if !h.keeps && !h.untold {
			until = h.mayStopUntil
		}
		may = may && a.now.Before(until)
	case !c.handsOver():
		return
	case c.Known.Drained.confirmed():
		until, may = time.Time{}, true
	}
	if may {
		a.handsOver[claim.UID] = true
	}
	if a.now.Before(until) {
		a.out.wake(until)
	}
}
