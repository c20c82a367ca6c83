package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Before is what a predecessor has noted about the rollout.
type Before struct {
	LastProgress time.Time
	Stalled      bool
	Estimates    progress.Estimates
}

// judgeProgress completes the decision: whether something got better, since when each thing is
// awaited, and in which phase the rollout is.
func (a *step) judgeProgress() {
	m := &a.out.Moment
	m.Snapshot, m.Plan, m.DecidedAt = a.Snapshot, a.plan, a.now
	m.Pods, m.Phase = progress.CountPods(m.Snapshot, m.Plan), m.Plan.Phase
	next, better := a.s.progress.Next(m)
	if better && m.Phase == model.ClusterStalled {
		a.Snapshot.Cluster.Status.LastProgress = asOf(a.now, next.At())
		a.decide()
		m.Snapshot, m.Plan = a.Snapshot, a.plan
	}
	m.HeldSince, m.UnavailableSince = next.Held(), next.Unavailable()
	phase, changes := progress.Judge(m, a.s.stalled, better)
	a.out.wake(changes)
	m.Phase = phase
	a.s.progress, a.s.stalled = next, phase == model.ClusterStalled
	a.s.estimates = a.s.estimates.Learn(m.Snapshot, a.out.Downtimes)
	a.out.LastProgress, a.out.Estimates = next.At(), a.s.estimates
	if m.Plan.RetryAfterSeconds > 0 {
		a.out.wake(a.now.Add(time.Duration(m.Plan.RetryAfterSeconds) * time.Second))
	}
	if at := next.StallsAt(m); at.After(a.now) {
		a.out.wake(at)
	}
}

// asOf returns a moment that is as long before now as it was, however the clock has been set since.
// It returns nil for a zero moment.
func asOf(now, at time.Time) *model.Time {
	if at.IsZero() {
		return nil
	}
	t := model.At(now.Add(-now.Sub(at)))
	return &t
}
