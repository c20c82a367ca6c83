package coordinator

import (
	"context"
	"sync/atomic"
	"time"
)

// eventDelay is how long a pass waits for what happens together with its cause.
const eventDelay = time.Millisecond

// requested are the passes that were requested.
type requested struct {
	events chan struct{}
	// poked is true if a pass is to be made, whatever has changed.
	poked atomic.Bool
}

// wake asks for a pass.
func (s *session) wake() {
	s.poked.Store(true)
	s.hint()
}

// hint asks for a pass if it would see anything new.
func (s *session) hint() {
	select {
	case s.events <- struct{}{}:
	default:
	}
}

// wait returns true when it is time for the next pass, which sees all events until then, and false
// when ctx has ended.
func (s *session) wait(ctx context.Context, wake time.Time) bool {
	timer := time.NewTimer(max(0, time.Until(wake)))
	defer timer.Stop()
	for due := false; !due; {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		case <-s.events:
		}
		if !pause(ctx, eventDelay) {
			return false
		}
		select {
		case <-s.events: // the pass that begins now sees what the event is about
		default:
		}
		now := time.Now()
		due = s.poked.Swap(false) || !now.Before(wake) || !s.standingPods(now)
	}
	return true
}

// standingPods reports whether a pass would see what the last one saw.
func (s *session) standingPods(now time.Time) bool {
	objects, ok := s.options.Cache.Cluster(s.key)
	if !ok || s.basis == nil {
		return false
	}
	objects.Cluster = s.later(objects.Cluster)
	is := s.input(now, objects)
	return s.basis.Stands(is) && !s.departures.heard(s.basis.Agents(), is.Agents)
}

// sooner returns the earliest of some times. A zero time does not count.
func sooner(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
