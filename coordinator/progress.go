package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// progress notes when something last became better: a claim went on, or more
// pods are back, or there is something new to do.
type progress struct {
	at time.Time

	known bool
	// stages says how far a claim on each pod has come, by the pod's UID: one that
	// is given up and made again gets nowhere.
	stages    map[string]int
	claims    []policy.Claim
	pods      status.PodCounts
	busy      bool
	revisions map[string]string
	// asked: it waits because a person or a clock said so.
	asked bool
	// held says since when each wait has lasted.
	held map[string]time.Time
}

func newProgress(last time.Time) progress { return progress{at: last} }

// note answers whether something became better, or there is something new to
// wait for, so that no wait has lasted for long yet.
func (p *progress) note(now time.Time, d status.Decision) bool {
	next := progress{
		at: p.at, known: true, stages: map[string]int{}, claims: d.Claims, pods: d.Pods,
		busy: len(d.Plan.Order)+len(d.Claims) > 0, revisions: revisions(d.Snapshot),
		asked: onRequest(d), held: map[string]time.Time{},
	}
	for _, wait := range status.WaitKeys(d) {
		next.held[wait] = now
		if at, known := p.held[wait]; known {
			next.held[wait] = at
		}
	}
	for _, pod := range d.Snapshot.Pods {
		if stage := p.stages[pod.UID]; stage > 0 {
			next.stages[pod.UID] = stage
		}
	}
	for _, claim := range d.Claims {
		next.stages[claim.UID] = max(p.stages[claim.UID], status.StageOf(claim))
	}
	switch {
	case next.at.IsZero(),
		p.known && p.wentOn(next),
		p.known && (next.pods.Updated > p.pods.Updated || next.pods.Ready > p.pods.Ready || next.pods.Away < p.pods.Away),
		p.known && next.busy && !p.busy,
		p.known && p.asked && !next.asked, // what was waited for on request is no stall afterwards
		p.known && !maps.Equal(p.revisions, next.revisions):
		next.at = now
	}
	better := !next.at.Equal(p.at)
	*p = next
	return better
}

// wentOn: a claim came further than any on that pod before, or one whose pod had
// gone is over.
func (p *progress) wentOn(next progress) bool {
	for uid, stage := range next.stages {
		if stage > p.stages[uid] {
			return true
		}
	}
	return slices.ContainsFunc(p.claims, func(c policy.Claim) bool {
		return status.HasGone(c) && !slices.ContainsFunc(next.claims, func(n policy.Claim) bool { return n.ID == c.ID })
	})
}

// onRequest: a person or a clock said that nobody goes.
func onRequest(d status.Decision) bool {
	return slices.ContainsFunc(d.Plan.Holds, func(h policy.Hold) bool { return h.Pod == "" && policy.OnRequest(h.Rule) })
}

// revisions are those that are being rolled out, by pool.
func revisions(s policy.Snapshot) map[string]string {
	out := map[string]string{}
	for _, pool := range s.Pools {
		if pool.Revision != "" {
			out[pool.Name] = pool.Revision
		}
	}
	return out
}
