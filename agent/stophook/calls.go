package stophook

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/state"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// leastCoolDown is the shortest time before another stop is carried out while the
// database was never away. A kubelet calls once for each time it stops the
// container. It repeats the call only if it was restarted within the grace period;
// at the end of that the container is gone.
const leastCoolDown = 10 * time.Minute

func (h *Hook) coolDown() time.Duration { return max(leastCoolDown, 2*h.Grace) }

// stopCall is a call for which something was handed over.
type stopCall struct {
	began time.Time
	// ended is false while the stop is running, and if the agent did not live to see
	// its end.
	ended bool
}

// stopCalls are the newest call from where the kubelet is known to call, and the
// newest from elsewhere. They are separate, so that a stranger uses up no call of
// the kubelet.
type stopCalls struct{ known, elsewhere *stopCall }

func (c *stopCalls) of(from string) **stopCall {
	if from == FromElsewhere {
		return &c.elsewhere
	}
	return &c.known
}

// Results of a call of the stop hook, as the metric names them.
const (
	CallTaken   = "accepted"
	CallJoined  = "joined"   // a stop that is running
	CallHeld    = "cooldown" // within the cool-down
	CallToken   = "token"
	CallAddress = "address"
)

type Answer struct{ Result, Line string }

// Call runs the hook for a caller from somewhere.
func (h *Hook) Call(ctx context.Context, from string) Answer {
	return h.callSince(ctx, from, time.Now())
}

// callSince is Call for somebody who called then.
func (h *Hook) callSince(ctx context.Context, from string, called time.Time) Answer {
	h.mu.Lock()
	run, result := h.run, CallJoined
	if run == nil || isClosed(run.done) {
		if why := h.held(from, time.Now()); why != "" {
			h.mu.Unlock()
			return Answer{CallHeld, why}
		}
		result = CallTaken
		run = &stopRun{done: make(chan struct{}), kubeletJoined: make(chan struct{}), from: from, called: called, kubelet: from != FromElsewhere}
		run.quiet = !run.kubelet && (h.stopping || h.nothingDoneWithin(h.Grace+stillHere))
		h.run = run
		if !run.quiet {
			h.announce()
		}
		h.Drainer.Background(func() { h.carryOut(h.ctx, run) })
	} else if from != FromElsewhere && !run.kubelet {
		run.kubelet = true
		close(run.kubeletJoined)
		if run.quiet {
			run.quiet = false
			h.announce()
		}
	}
	h.mu.Unlock()
	select {
	case <-run.done:
		if result == CallJoined && run.result == stopTimeout && from != FromElsewhere && run.from == FromElsewhere && time.Since(called) < h.budget() {
			return h.callSince(ctx, from, called) // the earlier caller's time is over, and the kubelet's is not
		}
		return Answer{result, run.line}
	case <-ctx.Done():
		return Answer{result, "still working"}
	}
}

// announce tells others that the pod is being stopped. The caller holds mu.
func (h *Hook) announce() {
	h.stopping, h.departed, h.back, h.nothingDone = true, false, false, time.Time{}
	h.Board.SetPhase(rollcallv1.Phase_PHASE_STOPPING)
}

// carryOut does the work of a run. ctx is not that of a caller.
func (h *Hook) carryOut(ctx context.Context, run *stopRun) {
	h.mu.Lock()
	wait := time.Until(h.refused.Add(drain.RetryRefused))
	if run.kubelet {
		wait = 0
	}
	h.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(min(wait, h.budget()/2)):
		case <-run.kubeletJoined:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	run.working = true
	h.mu.Unlock()
	result, line := h.perform(ctx, run)
	h.Metrics.runs.WithLabelValues(result).Inc()
	h.Logger.Info("stop hook ended", "result", result, "detail", line)
	h.mu.Lock()
	defer h.mu.Unlock()
	defer close(run.done)
	run.result, run.line = result, line
	h.finish(run)
	now, nothingDone := time.Now(), !run.begun && !run.kubelet && result != stopPrepared
	if run.quiet && !nothingDone {
		run.quiet = false
		h.announce()
	}
	if !run.quiet {
		h.ended = now
	}
	if !nothingDone {
		return
	}
	h.refused = now
	switch {
	case !run.quiet:
		h.nothingDone = now
	case !h.stopping && len(h.record.Undo) > 0:
		h.back = true // undo what it began
	}
}

// nothingDoneWithin reports whether, that recently, the stop of a caller from
// elsewhere was announced and nothing was handed over. The caller holds mu.
func (h *Hook) nothingDoneWithin(d time.Duration) bool {
	return !h.nothingDone.IsZero() && time.Since(h.nothingDone) < d
}

// working reports whether a run may be writing. The caller holds mu.
func (h *Hook) working() bool { return h.run != nil && h.run.working && !isClosed(h.run.done) }

// held says why nothing is handed over again, or "". The caller holds mu.
func (h *Hook) held(from string, now time.Time) string {
	calls := []*stopCall{h.calls.known}
	if from == FromElsewhere {
		calls = append(calls, h.calls.elsewhere)
	}
	for _, c := range calls {
		if c == nil {
			continue
		}
		age := now.Sub(c.began)
		// A stop whose agent has ended continues, in its own time.
		if open := !c.ended && age < h.Grace; !open && age < h.coolDown() {
			return fmt.Sprintf("nothing done again: a stop was carried out %.0f s ago, and the database was not unavailable since; the next one is taken in %.0f s, or once it was unavailable",
				age.Seconds(), (h.coolDown() - age).Seconds())
		}
	}
	return ""
}

// begin notes, before anything changes, that something is handed over for a call.
// The function that it returns takes that back.
func (h *Hook) begin(run *stopRun) (takeBack func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run.begun {
		return func() {}
	}
	slot, now := h.calls.of(run.from), time.Now()
	former := *slot
	run.begun = true
	if former == nil || former.ended || now.Sub(former.began) >= h.Grace {
		*slot = &stopCall{began: now}
	}
	h.keepCalls()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		run.begun, *slot = false, former
		h.keepCalls()
	}
}

// finish notes that the run has ended. The caller holds mu.
func (h *Hook) finish(run *stopRun) {
	h.callsEnded = time.Now()
	if h.ctx.Err() != nil {
		return // the agent ends, and the next one continues
	}
	if slot := h.calls.of(run.from); run.begun && *slot != nil {
		*slot = &stopCall{began: (*slot).began, ended: true}
		h.keepCalls()
	}
}

// away gets every probe that did not find the database live. After a stop, that
// means that the container was stopped, and that the next stop is a new one. A
// database that does not answer counts as away: better one handover too many than a
// lost one. The caller holds mu.
func (h *Hook) away(look probe.Result) {
	if h.calls == (stopCalls{}) || h.working() || !look.Started.After(h.callsEnded) {
		return
	}
	h.calls = stopCalls{}
	h.keepCalls()
}

// keepCalls saves the calls for the next agent of this pod. The caller holds mu.
func (h *Hook) keepCalls() {
	kept := func(c *stopCall) *state.Call {
		if c == nil {
			return nil
		}
		at, err := h.Clock.At(c.began)
		if err != nil {
			h.Logger.Warn("a restarted agent will not know when the stop hook was called", "error", err)
			return nil
		}
		return &state.Call{Began: *at, Ended: c.ended}
	}
	err := h.Store.SaveCalls(state.Calls{Known: kept(h.calls.known), Elsewhere: kept(h.calls.elsewhere)})
	if err != nil {
		h.Logger.Warn("a restarted agent will not know that the stop hook was called", "error", err)
	}
}

// recallCalls reads what earlier agents of this pod saved. Calls that cannot be
// dated, or are of another boot, are over.
func (h *Hook) recallCalls() {
	r, mine, err := h.Store.LoadCalls()
	if err != nil {
		h.Logger.Warn("cannot read earlier calls of the stop hook", "error", err)
	}
	now, noClock := h.Clock()
	if !mine || err != nil || noClock != nil {
		return
	}
	recalled := func(k *state.Call) *stopCall {
		if k == nil || k.Began.Boot != now.Boot || k.Began.Since > now.Since {
			return nil
		}
		return &stopCall{time.Now().Add(k.Began.Since - now.Since), k.Ended}
	}
	h.calls = stopCalls{recalled(r.Known), recalled(r.Elsewhere)}
}
