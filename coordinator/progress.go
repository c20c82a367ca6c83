package coordinator

import (
	"maps"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// progress notes when something last became better: a claim went on, or more
// pods are back, or there is something new to do.
type progress struct {
	at time.Time

	known     bool
	phases    map[string]policy.ClaimPhase
	pods      status.PodCounts
	busy      bool
	revisions map[string]string
}

func newProgress(last time.Time) progress { return progress{at: last} }

func (p *progress) note(now time.Time, d status.Decision) {
	next := progress{
		at: p.at, known: true, phases: map[string]policy.ClaimPhase{}, pods: d.Pods,
		busy: len(d.Plan.Order)+len(d.Claims) > 0, revisions: revisions(d.Snapshot),
	}
	for _, claim := range d.Claims {
		next.phases[claim.ID] = claim.Phase
	}
	switch {
	case next.at.IsZero(),
		p.known && !maps.Equal(p.phases, next.phases),
		p.known && (next.pods.Updated > p.pods.Updated || next.pods.Ready > p.pods.Ready || next.pods.Away < p.pods.Away),
		p.known && next.busy && !p.busy,
		p.known && !maps.Equal(p.revisions, next.revisions):
		next.at = now
	}
	*p = next
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
