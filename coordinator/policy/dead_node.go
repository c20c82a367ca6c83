package policy

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// If no pod of a database is live, a restart can lose nothing more. But a pod that may still come
// back must be waited for: see the section "Nobody live" of the page.

// oneAtATime is for a database of which no pod is live. A restart can lose nothing more, so broken
// pods go, but one after the other, and only when every pod that could report has said that it is
// not live.
func (d *decision) oneAtATime(c *candidate) *finding {
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		switch {
		case p == c.Pod || !p.Desired:
			continue
		case d.goesWith(p) && d.x.KnownDead(p):
			continue // its controller creates none of them before the lowest is corrected
		case d.isChosen[i]:
			return found(fmt.Sprintf("no pod is live, so pods go one at a time, and %s goes first", p.Name),
				p.Name+" back, or failed again")
		case p.WaitsForLivePod() && d.x.KnownDead(p), d.x.NotYetCreated(p), d.servesUnseen(p):
			continue
		}
		return found(fmt.Sprintf("no pod is live, so pods go one at a time, and %s (%s) may still come back", p.Name, p.UnavailableReason),
			p.Name+" back, or failed")
	}
	return nil
}

// servesUnseen reports whether Kubernetes finds the pod Ready, and it has no agent that could say
// otherwise. Then there is nothing to wait for.
func (d *decision) servesUnseen(p *cluster.Pod) bool {
	return p.Phase == model.PodPhaseReady && !p.Agent && p.OwnReport == nil && !d.x.NodeGone(p) && p.ClaimHasGone()
}
