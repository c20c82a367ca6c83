package progress

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Progress notes when something last got better: a claim made progress, more pods are back, or
// there is something new to do.
type Progress struct {
	at time.Time

	known bool
	// stages says how far a claim on each pod has come, by the pod's UID. A claim that is given up
	// and made again makes no progress.
	stages map[string]int
	// lastSeen are the UIDs of the existing pods.
	lastSeen map[string]bool
	claims   []model.Claim
	// best is the furthest that the rollout has come.
	best      marks
	busy      bool
	revisions map[string]string
	// asked is true if it waits because a person or a clock said so.
	asked bool
	// held says since when each wait has lasted.
	held map[string]time.Time
	// unavailable says since when each pod that does not serve has not.
	unavailable map[string]time.Time
}

// marks are how many pods are updated, Ready, and back in the database. A pod that is back from a
// blip is no progress, so they are compared with the most that there were.
type marks struct{ updated, ready, well int32 }

func (m marks) above(o marks) bool {
	return m.updated > o.updated || m.ready > o.ready || m.well > o.well
}

func (m marks) or(o marks) marks {
	return marks{max(m.updated, o.updated), max(m.ready, o.ready), max(m.well, o.well)}
}

// New returns the progress for a new coordinator whose predecessor noted when something last got
// better.
func New(last time.Time) Progress { return Progress{at: last} }

// At returns when something last got better. It returns zero if that is not known.
func (p Progress) At() time.Time { return p.at }

// Next returns the progress after a moment, and whether something got better, or there is something
// new to wait for, so that no wait has lasted for long yet.
func (p Progress) Next(d *Moment) (next Progress, better bool) {
	now := d.DecidedAt
	next = Progress{
		at: p.at, known: true, stages: map[string]int{}, lastSeen: map[string]bool{}, claims: d.Claims, best: marks{d.Pods.Updated, d.Pods.Ready, int32(well(d.Snapshot))},
		busy: len(d.Plan.Order)+len(d.Claims) > 0, revisions: Revisions(d.Snapshot),
		asked: onRequest(now, d), held: map[string]time.Time{}, unavailable: p.unavailableOf(now, d),
	}
	for _, wait := range WaitKeys(d) {
		next.held[wait] = now
		if at, known := p.held[wait]; known {
			next.held[wait] = at
		}
	}
	for _, pod := range d.Snapshot.Pods {
		next.lastSeen[pod.UID] = pod.Phase != model.PodPhaseMissing
		if stage := p.stages[pod.UID]; stage > 0 {
			next.stages[pod.UID] = stage
		}
	}
	for _, claim := range d.Claims {
		if claim.Phase != model.PhaseRestoring || next.gone(claim) { // otherwise it is given up
			next.stages[claim.UID] = max(p.stages[claim.UID], StageOf(claim))
		}
	}
	switch {
	case next.at.IsZero(),
		p.known && p.progressed(next),
		p.known && next.best.above(p.best),
		p.known && next.busy && !p.busy,
		p.known && p.asked && !next.asked, // what was waited for on request is no stall afterwards
		p.known && !maps.Equal(p.revisions, next.revisions):
		next.at = now
	}
	if p.known && next.busy && p.busy && maps.Equal(p.revisions, next.revisions) {
		next.best = next.best.or(p.best)
	}
	return next, !next.at.Equal(p.at)
}

// Held says since when each wait has lasted.
func (p Progress) Held() map[string]time.Time { return p.held }

// Unavailable says since when each pod that does not serve has not.
func (p Progress) Unavailable() map[string]time.Time { return p.unavailable }

// unavailableOf says since when each pod that does not serve has not: since it was first seen so
// or, for pods in the first pass, since their phase began. A pod that is recreated in the meantime
// was unavailable all the time.
func (p Progress) unavailableOf(now time.Time, d *Moment) map[string]time.Time {
	away := map[string]time.Time{}
	for _, a := range UnavailablePods(d) {
		away[a.Pod] = now
		if at, known := p.unavailable[a.Pod]; known {
			away[a.Pod] = at
		} else if !p.known && !a.Since.IsZero() {
			away[a.Pod] = a.Since
		}
	}
	return away
}

// progressed reports whether a claim came further than any on that pod before, or one whose pod had
// gone is over.
func (p Progress) progressed(next Progress) bool {
	for uid, stage := range next.stages {
		if stage > p.stages[uid] {
			return true
		}
	}
	return slices.ContainsFunc(p.claims, func(c model.Claim) bool {
		return next.gone(c) && !slices.ContainsFunc(next.claims, func(n model.Claim) bool { return n.ID == c.ID })
	})
}

// well counts the pods that are back in the database, claimed or not: giving up a claim brings no
// pod back.
func well(s model.Snapshot) (n int) {
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Phase == model.PodPhaseReady && (!p.Agent || p.Report != nil && p.Report.Member == model.MembershipLive && p.Report.Settled) {
			n++
		}
	}
	return n
}

// gone reports whether the pod of a claim has gone.
func (p Progress) gone(c model.Claim) bool {
	uid := ""
	if p.lastSeen[c.UID] {
		uid = c.UID
	}
	return HasGone(c, uid)
}

// onRequest reports whether a person or a clock said that no pod goes, or nothing has got better
// for long because of that.
func onRequest(now time.Time, d *Moment) bool {
	patience := time.Duration(d.Snapshot.Cluster.Spec.Policy.ProgressSeconds) * time.Second
	last := d.Snapshot.Cluster.Status.LastProgress
	if d.Plan.Phase == model.ClusterWaiting && last != nil && !last.Add(patience).After(now) {
		return true
	}
	return slices.ContainsFunc(d.Plan.Holds, func(h model.Hold) bool { return h.Pod == "" && policy.OnRequest(h.Rule) })
}

// Revisions returns the revisions that are being rolled out, by pool.
func Revisions(s model.Snapshot) map[string]string {
	out := map[string]string{}
	for _, pool := range s.Pools {
		if pool.Revision != "" {
			out[pool.Name] = pool.Revision
		}
	}
	return out
}
