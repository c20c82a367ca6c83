package policy

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// A copy that stays down on a live pod is broken, and only a restart of its own pod may bring it
// back. The same is true of a copy that keeps recovering and does not come back. Until then the
// copy counts as missing in its group, or its pod as unavailable, so others may wait for a pod that
// the order sends after them. Ending the rollout is worth more than the order: while no other pod
// can go or is going, the pod goes before its turn, and so does the pod that the partition must
// free before it.

// goOutOfOrder takes the first pod with a broken copy that only the order holds, or the pod that
// must go before it.
func (d *decision) goOutOfOrder(held []model.Hold) {
	if len(d.steps) > 0 || d.anyClaimed() {
		return
	}
	lasting := d.noProgress()
	for i := range d.x.Pods {
		if p := &d.x.Pods[i]; p.Unavailable && !p.HasBroken(lasting) && d.returnsByItself(p) {
			return
		}
	}
	d.curing = true
	explained := d.explained
	var counting *decision
	for i := range d.order {
		if !d.mayGoOutOfOrder(&d.order[i], lasting) {
			continue
		}
		c, asked := d.firstByPartition(&d.order[i]), d
		if d.x.StandsUnready(c.Pod) {
			if counting == nil {
				counting = d.countingUnready()
			}
			asked = counting
		}
		asked.needed = cost([]*candidate{c})
		if hold, notes := asked.ask(&asked.order[c.place]); hold == nil {
			d.retry(asked.retryAt)
			held[c.place] = model.Hold{}
			d.take(c, notes)
			if c.Name == d.explain {
				explained = nil
			}
			break
		}
	}
	d.explained, d.curing = explained, false
}

// anyClaimed reports whether a claimed pod is going. A pod that its controller creates only after
// one that is not Ready does not count.
func (d *decision) anyClaimed() bool {
	n := len(d.x.Claims)
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		n -= cluster.Count(p.Claim != nil && d.x.NotYetCreated(p))
	}
	return n > 0
}

// firstByPartition returns the pod that must go before the partition is lowered to a pod with a
// broken copy: the highest of those in between, unless their guards keep them.
func (d *decision) firstByPartition(c *candidate) *candidate {
	if c.action != model.ActionLowerPartition || c.forced {
		return c
	}
	between := d.between(c)
	if len(between) == 0 || d.guardsClosed(between) {
		return c
	}
	for i := range d.order {
		if d.order[i].Pod == between[0] {
			return &d.order[i]
		}
	}
	return c
}

// mayGoOutOfOrder reports whether the pod may go before its turn.
func (d *decision) mayGoOutOfOrder(c *candidate, lasting bool) bool {
	return c.HasBroken(lasting) || d.x.StandsUnready(c.Pod)
}

// isFirstByPartition reports whether the partition is lowered to a pod that may go early only after
// this one.
func (d *decision) isFirstByPartition(c *candidate) bool {
	for i := range d.order {
		if o := &d.order[i]; o != c && o.OwnPool == c.OwnPool && d.mayGoOutOfOrder(o, true) && d.firstByPartition(o) == c {
			return true
		}
	}
	return false
}

// returnsByItself reports whether the unavailable pod may come back without any action.
func (d *decision) returnsByItself(p *cluster.Pod) bool {
	late := p.Phase != model.PodPhaseReady && d.x.Overdue(p)
	return !late && d.x.FailureReason(p) == ""
}

// noProgress reports whether the rollout has made no progress for too long.
func (d *decision) noProgress() bool {
	end := d.patienceEnds()
	return !end.IsZero() && !end.After(d.x.Now)
}

// patienceEnds returns when the rollout will have made no progress for too long. It returns zero if
// no progress is known.
func (d *decision) patienceEnds() time.Time {
	last := d.x.Snapshot.Cluster.Status.LastProgress
	if last == nil || last.IsZero() {
		return time.Time{}
	}
	return last.Add(cluster.Span(d.x.Spec.Policy.ProgressSeconds))
}

// countingUnready returns a decision that counts unready pods as well, in which no pod has been
// chosen.
func (d *decision) countingUnready() *decision {
	trial := d.trial()
	trial.x.CountUnready()
	trial.curing = true
	return trial
}
