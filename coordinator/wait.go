package coordinator

import (
	"context"
	"sync/atomic"
	"time"
)

// settle is how long a pass waits for what happens together with its cause.
const settle = time.Millisecond

// requested are the passes that were asked for.
type requested struct {
	events chan struct{}
	// poked: a pass is to be made, whatever has changed.
	poked atomic.Bool
}

// wake asks for a pass.
func (s *session) wake() {
	s.poked.Store(true)
	s.hint()
}

// hint asks for a pass if what it would look at says anything new.
func (s *session) hint() {
	select {
	case s.events <- struct{}{}:
	default:
	}
}

// wait returns true when it is time for the next pass, which sees all that was told until then, and
// false when ctx has ended.
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
		if !pause(ctx, settle) {
			return false
		}
		select {
		case <-s.events: // the pass that begins now sees what it tells of
		default:
		}
		now := time.Now()
		due = s.poked.Swap(false) || !now.Before(wake) || !s.standingPods(now)
	}
	return true
}

// standingPods reports whether a pass would look at what the last one looked at.
func (s *session) standingPods(now time.Time) bool {
	objects, ok := s.options.Cache.Cluster(s.key)
	if !ok || s.basis == nil {
		return false
	}
	objects.Cluster = s.later(objects.Cluster)
	is := s.input(now, objects)
	return s.basis.Stands(is) && !s.departures.heard(s.basis.Agents(), is.Agents)
}

// sooner is the earliest of some times; a zero time is none.
func sooner(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
