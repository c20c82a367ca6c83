package coordinator

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

const (
	// reportsLinger is how long report streams are held after the last work.
	reportsLinger = time.Minute
	// firstReports is how long agents may take to report after they were asked to.
	firstReports = 3 * time.Second
)

// reports says whose reports are followed.
type reports struct {
	// again: agents are to look, for nothing seen before the take-over is fresh.
	anew           bool
	reporting      bool
	reportingSince time.Time
	workedAt       time.Time
	// lookedAt is when a first look was still needed, and turn whether one is under way.
	lookedAt       time.Time
	turn, turnOver bool
	// asked: somebody asks about an idle cluster.
	asked      atomic.Bool
	refreshing sync.WaitGroup
	// blind is true if since reports are followed, some pod did not run well.
	blind bool
}

// follow follows all agents' reports while there is work, and a little
// longer; an idle cluster costs a few rosters. For a first look the cluster
// waits for its turn, and so it does where labels do not say what the members are (rolesDiffer). It
// answers when that changes by time alone.
func (s *session) follow(now time.Time, d status.Decision, rolesDiffer bool) (wake time.Time) {
	work := len(d.Plan.Order) > 0 || len(d.Claims) > 0 || toUndo(&s.newest.Status) > 0
	if s.asked.Swap(false) || work {
		s.workedAt = now
	}
	reporting := work || now.Sub(s.workedAt) < reportsLinger
	turn, until := s.takeTurn(now, d, rolesDiffer, reporting)
	reporting = turn || reporting
	if reporting && !s.reporting {
		s.reportingSince = now
		s.wake() // to ask for the streams at once
	}
	if s.reporting && !reporting {
		s.options.Rested()
	}
	if s.reporting = reporting; !reporting {
		return until
	}
	return sooner(until, s.reportsChange(now))
}

// takeTurn returns whether reports are to be followed for a first look: because this coordinator
// has just begun, because the database was not healthy yet, or because its labels seem to be wrong. While some pod is not Ready it
// cannot become that, so there is no need to look. (Only Kubernetes' word counts for this: were it
// the agents', who looks would need something else than who does not.)
func (s *session) takeTurn(now time.Time, d status.Decision, rolesDiffer, already bool) (may bool, until time.Time) {
	first := !d.Snapshot.Cluster.Status.Initialized || rolesDiffer
	if first {
		s.lookedAt = now
	}
	if already || !first && now.Sub(s.lookedAt) >= reportsLinger {
		s.endTurn(now)
		return false, time.Time{}
	}
	need := rolesDiffer || first && allReady(d)
	if !need && !s.turn {
		s.endTurn(now)
		return false, time.Time{}
	}
	may, until = s.turns.ask(now, s.key, len(d.Snapshot.Pods), need)
	if !until.After(now) {
		until = time.Time{}
	}
	if s.turn && !may {
		s.endTurn(now)
		return false, until
	}
	s.turn = may
	return may, until
}

func allReady(d status.Decision) bool {
	ready := int32(0)
	for i := range d.Snapshot.Pods {
		if d.Snapshot.Pods[i].Phase == model.PodPhaseReady {
			ready++
		}
	}
	return d.Pods.Desired > 0 && ready >= d.Pods.Desired
}

// endTurn: the next pass closes the streams, if nothing else needs them, and only
// then is it somebody else's turn.
func (s *session) endTurn(now time.Time) {
	if !s.turn {
		s.turns.leave(now, s.key) // it may be waiting for one
		return
	}
	s.turn, s.turnOver = false, true
	s.wake()
}

// turnWhileUnknown is for a database of which not all is known: no pass looks at it, so its turn comes to no end.
func (s *session) turnWhileUnknown(now time.Time) {
	if s.turn && s.turns.over(now, s.key) {
		s.turn, s.turnOver, s.reporting = false, true, false
		s.options.Rested()
	}
	if s.turnOver {
		s.turnOver = false
		if !s.reporting {
			s.options.Agents.Idle(s.key)
		}
		s.turns.leave(now, s.key)
	}
}

// reportsChange is when streams may be closed, or those who have not reported are waited
// for no more.
func (s *session) reportsChange(now time.Time) (first time.Time) {
	for _, at := range []time.Time{s.workedAt.Add(reportsLinger), s.lookedAt.Add(reportsLinger), s.reportingSince.Add(firstReports)} {
		if at.After(now) {
			first = sooner(first, at)
		}
	}
	return first
}

// idle reports whether reports are not followed, or only since a moment and not all are there.
func (s *session) idle(now time.Time, snapshot model.Snapshot) bool {
	if !s.reporting {
		return true
	}
	return now.Sub(s.reportingSince) < firstReports && slices.ContainsFunc(snapshot.Pods, func(p model.Pod) bool {
		return p.Agent && p.Phase == model.PodPhaseReady && (p.Report == nil || !p.Report.Fresh)
	})
}
