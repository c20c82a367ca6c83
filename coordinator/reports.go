package coordinator

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

const (
	// reportsLinger is how long report streams are held after the last work.
	reportsLinger = time.Minute
	// firstReports is how long agents may take to report after they were asked to.
	firstReports = 3 * time.Second
)

// holdReports follows all agents' reports while there is work, and a little
// longer; an idle cluster costs a few rosters.
func (s *session) holdReports(now time.Time, d status.Decision) {
	work := len(d.Plan.Order) > 0 || len(d.Claims) > 0 || len(s.newest.Status.Shared) > 0 || !d.Snapshot.Cluster.Status.Initialized
	if s.asked.Swap(false) || work {
		s.workedAt = now
	}
	reporting := work || now.Sub(s.workedAt) < reportsLinger
	if reporting && !s.reporting {
		s.reportingSince = now
		s.poke() // to ask for the streams at once
	}
	s.reporting = reporting
}

// wakeForReports: when streams may be closed, and when those who have not
// reported are waited for no more.
func (s *session) wakeForReports(now time.Time, wake *time.Time) {
	for _, at := range []time.Time{s.workedAt.Add(reportsLinger), s.reportingSince.Add(firstReports)} {
		if at.After(now) {
			sooner(wake, at)
		}
	}
}

// idle: reports are not followed, or only since a moment and not all are there.
func (s *session) idle(now time.Time, snapshot policy.Snapshot) bool {
	if !s.reporting {
		return true
	}
	return now.Sub(s.reportingSince) < firstReports && slices.ContainsFunc(snapshot.Pods, func(p policy.Pod) bool {
		return p.Agent && p.Phase == policy.Ready && (p.Report == nil || !p.Report.Fresh)
	})
}
