package agent

import (
	"context"
	"fmt"
	"time"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// leastCoolDown is how long a stop that was carried out is not begun anew at least,
// while the database was never away. A kubelet calls once for each time that it
// stops the container. It repeats that only within the grace period, when it was
// started anew itself; at the end of that the container is gone.
const leastCoolDown = 10 * time.Minute

func (s *stopper) coolDown() time.Duration { return max(leastCoolDown, 2*s.grace) }

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
	if from == fromElsewhere {
		return &c.elsewhere
	}
	return &c.known
}

// Results of a call of the stop hook, as the metric names them.
const (
	callTaken   = "taken"
	callJoined  = "joined" // a stop that is under way
	callHeld    = "held"   // within the cool-down
	callToken   = "token"
	callAddress = "address"
)

type answer struct{ result, line string }

// call is the hook for a caller from somewhere.
func (s *stopper) call(ctx context.Context, from string) answer {
	s.mu.Lock()
	run, result := s.run, callJoined
	if run == nil || isClosed(run.done) {
		if why := s.held(from, time.Now()); why != "" {
			s.mu.Unlock()
			return answer{callHeld, why}
		}
		result = callTaken
		run = &stopRun{done: make(chan struct{}), from: from}
		s.run = run
		s.stopping, s.departed, s.back = true, false, false
		s.board.setPhase(rollcallv1.Phase_PHASE_STOPPING)
		s.drainer.background(func() {
			result, line := s.perform(s.drainer.ctx, run)
			s.metrics.stopHooks.WithLabelValues(result).Inc()
			s.logger.Info("stop hook ended", "result", result, "detail", line)
			s.mu.Lock()
			run.line, s.ended = line, time.Now()
			s.finish(run)
			s.mu.Unlock()
			close(run.done)
		})
	}
	s.mu.Unlock()
	select {
	case <-run.done:
		return answer{result, run.line}
	case <-ctx.Done():
		return answer{result, "still working"}
	}
}

// held says why nothing is handed over again, or nothing. Callers hold the lock.
func (s *stopper) held(from string, now time.Time) string {
	calls := []*stopCall{s.calls.known}
	if from == fromElsewhere {
		calls = append(calls, s.calls.elsewhere)
	}
	for _, c := range calls {
		if c == nil {
			continue
		}
		age := now.Sub(c.began)
		// A stop whose agent ended is gone on with, in its own time.
		if open := !c.ended && age < s.grace; !open && age < s.coolDown() {
			return fmt.Sprintf("nothing done again: a stop was carried out %.0f s ago, and the database was not away since; the next one is taken in %.0f s, or once it was away",
				age.Seconds(), (s.coolDown() - age).Seconds())
		}
	}
	return ""
}

// begin notes, before anything is changed, that a call has something handed over.
// What it answers takes that back.
func (s *stopper) begin(run *stopRun) (takeBack func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.begun {
		return func() {}
	}
	slot, now := s.calls.of(run.from), time.Now()
	former := *slot
	run.begun = true
	if former == nil || former.ended || now.Sub(former.began) >= s.grace {
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
func (s *stopper) finish(run *stopRun) {
	s.callsEnded = time.Now()
	if s.drainer.ctx.Err() != nil {
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
func (s *stopper) away(look sighting) {
	if s.calls == (stopCalls{}) || s.run != nil && !isClosed(s.run.done) || !look.started.After(s.callsEnded) {
		return
	}
	s.calls = stopCalls{}
	s.keepCalls()
}

// keepCalls writes them down for the next agent of this pod. Callers hold the lock.
func (s *stopper) keepCalls() {
	kept := func(c *stopCall) *keptCall {
		if c == nil {
			return nil
		}
		at := s.drainer.atBoot(c.began)
		if at == nil {
			return nil
		}
		return &keptCall{*at, c.ended}
	}
	err := s.store.saveCalls(callsRecord{Known: kept(s.calls.known), Elsewhere: kept(s.calls.elsewhere)})
	if err != nil {
		s.logger.Warn("a restarted agent will not know that the stop hook was called", "error", err)
	}
}

// recallCalls reads what earlier agents of this pod wrote. What cannot be told, or is
// of another start of the machine, is over.
func (s *stopper) recallCalls() {
	r, mine, err := s.store.loadCalls()
	if err != nil {
		s.logger.Warn("earlier calls of the stop hook are not known", "error", err)
	}
	now, clock := s.drainer.boot()
	if !mine || err != nil || clock != nil {
		return
	}
	recalled := func(k *keptCall) *stopCall {
		if k == nil || k.Began.Boot != now.Boot || k.Began.Since > now.Since {
			return nil
		}
		return &stopCall{time.Now().Add(k.Began.Since - now.Since), k.Ended}
	}
	s.calls = stopCalls{recalled(r.Known), recalled(r.Elsewhere)}
}
