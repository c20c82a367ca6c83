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

// leastCoolDown is how long a stop that was carried out is not begun anew at least,
// while the database was never away. A kubelet calls once for each time that it
// stops the container. It repeats that only within the grace period, when it was
// started anew itself; at the end of that the container is gone.
const leastCoolDown = 10 * time.Minute

func (s *Hook) coolDown() time.Duration { return max(leastCoolDown, 2*s.Grace) }

// stopCall is a call that had something handed over.
type stopCall struct {
	began time.Time
	// ended is false while the stop is under way, and when the agent did not live to
	// see its end.
	ended bool
}

// stopCalls are the newest from where the kubelet is known to call from, and from
// elsewhere. They are apart, so that a stranger uses up no call of the kubelet.
type stopCalls struct{ known, elsewhere *stopCall }

func (c *stopCalls) of(from string) **stopCall {
	if from == FromElsewhere {
		return &c.elsewhere
	}
	return &c.known
}

// Results of a call of the stop hook, as the metric names them.
const (
	CallTaken   = "taken"
	CallJoined  = "joined" // a stop that is under way
	CallHeld    = "held"   // within the cool-down
	CallToken   = "token"
	CallAddress = "address"
)

type Answer struct{ Result, Line string }

// call is the hook for a caller from somewhere.
func (s *Hook) Call(ctx context.Context, from string) Answer {
	return s.callSince(ctx, from, time.Now())
}

// callSince is for one who has called then.
func (s *Hook) callSince(ctx context.Context, from string, called time.Time) Answer {
	s.mu.Lock()
	run, result := s.run, CallJoined
	if run == nil || isClosed(run.done) {
		if why := s.held(from, time.Now()); why != "" {
			s.mu.Unlock()
			return Answer{CallHeld, why}
		}
		result = CallTaken
		run = &stopRun{done: make(chan struct{}), hurry: make(chan struct{}), from: from, called: called, kubelet: from != FromElsewhere}
		run.quiet = !run.kubelet && (s.stopping || s.vainWithin(s.Grace+stillHere))
		s.run = run
		if !run.quiet {
			s.leaves()
		}
		s.Drainer.Background(func() { s.carryOut(s.ctx, run) })
	} else if from != FromElsewhere && !run.kubelet {
		run.kubelet = true
		close(run.hurry)
		if run.quiet {
			run.quiet = false
			s.leaves()
		}
	}
	s.mu.Unlock()
	select {
	case <-run.done:
		if result == CallJoined && run.result == stopTimeout && from != FromElsewhere && run.from == FromElsewhere && time.Since(called) < s.budget() {
			return s.callSince(ctx, from, called) // who had called before was out of time, and the kubelet is not
		}
		return Answer{result, run.line}
	case <-ctx.Done():
		return Answer{result, "still working"}
	}
}

// leaves says that the pod is being stopped. Callers hold the lock.
func (s *Hook) leaves() {
	s.stopping, s.departed, s.back, s.vain = true, false, false, time.Time{}
	s.Board.SetPhase(rollcallv1.Phase_PHASE_STOPPING)
}

// carryOut is a run. ctx is not that of a caller.
func (s *Hook) carryOut(ctx context.Context, run *stopRun) {
	s.mu.Lock()
	wait := time.Until(s.refused.Add(drain.RetryRefused))
	if run.kubelet {
		wait = 0
	}
	s.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(min(wait, s.budget()/2)):
		case <-run.hurry:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	run.working = true
	s.mu.Unlock()
	result, line := s.perform(ctx, run)
	s.Metrics.runs.WithLabelValues(result).Inc()
	s.Logger.Info("stop hook ended", "result", result, "detail", line)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(run.done)
	run.result, run.line = result, line
	s.finish(run)
	now, vain := time.Now(), !run.begun && !run.kubelet && result != stopPrepared
	if run.quiet && !vain {
		run.quiet = false
		s.leaves()
	}
	if !run.quiet {
		s.ended = now
	}
	if !vain {
		return
	}
	s.refused = now
	switch {
	case !run.quiet:
		s.vain = now
	case !s.stopping && len(s.record.Undo) > 0:
		s.back = true // what it began is undone
	}
}

// vainWithin: a caller from elsewhere has had the pod said to stop of late, and nothing was handed over. Callers hold the lock.
func (s *Hook) vainWithin(d time.Duration) bool {
	return !s.vain.IsZero() && time.Since(s.vain) < d
}

// working tells whether a run may be writing. Callers hold the lock.
func (s *Hook) working() bool { return s.run != nil && s.run.working && !isClosed(s.run.done) }

// held says why nothing is handed over again, or nothing. Callers hold the lock.
func (s *Hook) held(from string, now time.Time) string {
	calls := []*stopCall{s.calls.known}
	if from == FromElsewhere {
		calls = append(calls, s.calls.elsewhere)
	}
	for _, c := range calls {
		if c == nil {
			continue
		}
		age := now.Sub(c.began)
		// A stop whose agent ended is gone on with, in its own time.
		if open := !c.ended && age < s.Grace; !open && age < s.coolDown() {
			return fmt.Sprintf("nothing done again: a stop was carried out %.0f s ago, and the database was not away since; the next one is taken in %.0f s, or once it was away",
				age.Seconds(), (s.coolDown() - age).Seconds())
		}
	}
	return ""
}

// begin notes, before anything is changed, that a call has something handed over.
// What it answers takes that back.
func (s *Hook) begin(run *stopRun) (takeBack func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.begun {
		return func() {}
	}
	slot, now := s.calls.of(run.from), time.Now()
	former := *slot
	run.begun = true
	if former == nil || former.ended || now.Sub(former.began) >= s.Grace {
		*slot = &stopCall{began: now}
	}
	s.keepCalls()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		run.begun, *slot = false, former
		s.keepCalls()
	}
}

// finish notes that the run has ended. Callers hold the lock.
func (s *Hook) finish(run *stopRun) {
	s.callsEnded = time.Now()
	if s.ctx.Err() != nil {
		return // the agent ends, and the next one goes on
	}
	if slot := s.calls.of(run.from); run.begun && *slot != nil {
		*slot = &stopCall{began: (*slot).began, ended: true}
		s.keepCalls()
	}
}

// away is told of a look that did not find the database live: if that was after the
// stop, the container was stopped indeed, and the next stop is another. One that
// does not answer counts as away: rather once too often than a stop that is lost.
// Callers hold the lock.
func (s *Hook) away(look probe.Result) {
	if s.calls == (stopCalls{}) || s.working() || !look.Started.After(s.callsEnded) {
		return
	}
	s.calls = stopCalls{}
	s.keepCalls()
}

// keepCalls writes them down for the next agent of this pod. Callers hold the lock.
func (s *Hook) keepCalls() {
	kept := func(c *stopCall) *state.Call {
		if c == nil {
			return nil
		}
		at, err := s.Clock.At(c.began)
		if err != nil {
			s.Logger.Warn("a restarted agent will not know when the stop hook was called", "error", err)
			return nil
		}
		return &state.Call{Began: *at, Ended: c.ended}
	}
	err := s.Store.SaveCalls(state.Calls{Known: kept(s.calls.known), Elsewhere: kept(s.calls.elsewhere)})
	if err != nil {
		s.Logger.Warn("a restarted agent will not know that the stop hook was called", "error", err)
	}
}

// recallCalls reads what earlier agents of this pod wrote. What cannot be told, or is
// of another start of the machine, is over.
func (s *Hook) recallCalls() {
	r, mine, err := s.Store.LoadCalls()
	if err != nil {
		s.Logger.Warn("earlier calls of the stop hook are not known", "error", err)
	}
	now, noClock := s.Clock()
	if !mine || err != nil || noClock != nil {
		return
	}
	recalled := func(k *state.Call) *stopCall {
		if k == nil || k.Began.Boot != now.Boot || k.Began.Since > now.Since {
			return nil
		}
		return &stopCall{time.Now().Add(k.Began.Since - now.Since), k.Ended}
	}
	s.calls = stopCalls{recalled(r.Known), recalled(r.Elsewhere)}
}
