package policy

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// A copy that stays down on a live pod is broken, and the restart of its own pod may be all
// that brings it back; so is one that recovers, and recovers, and is not back. Until then it
// counts as missing in its group, or its pod as away, so others may wait for a pod that the
// order sends after them. An order is worth less than an end: while nobody else can go or is
// on the way, the pod goes before its turn, and so does whom the line must free before it.

// goOutOfOrder: the first with a broken copy that only the order holds is taken, or who must go before it.
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

// anyClaimed who is on the way; one that its controller makes only after a pod that is not Ready is not.
func (d *decision) anyClaimed() bool {
	n := len(d.x.Claims)
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		n -= cluster.Count(p.Claim != nil && d.x.NotYetCreated(p))
	}
	return n > 0
}

// firstByPartition is who must go before the line comes down to a pod with a broken copy: the highest of
// those in between, unless their guards keep them.
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

// isFirstByPartition reports whether the line comes down to a pod that may go early only after this
// one.
func (d *decision) isFirstByPartition(c *candidate) bool {
	for i := range d.order {
		if o := &d.order[i]; o != c && o.OwnPool == c.OwnPool && d.mayGoOutOfOrder(o, true) && d.firstByPartition(o) == c {
			return true
		}
	}
	return false
}

// returnsByItself reports whether the pod that is unavailable may be back without anybody's doing.
func (d *decision) returnsByItself(p *cluster.Pod) bool {
	late := p.Phase != model.PodPhaseReady && d.x.Overdue(p)
	return !late && d.x.FailureReason(p) == ""
}

// noProgress reports whether the rollout has made none for too long.
func (d *decision) noProgress() bool {
	end := d.patienceEnds()
	return !end.IsZero() && !end.After(d.x.Now)
}

// patienceEnds is when the rollout will have made no progress for too long; zero when
// nobody knows of any.
func (d *decision) patienceEnds() time.Time {
	last := d.x.Snapshot.Cluster.Status.LastProgress
	if last == nil || last.IsZero() {
		return time.Time{}
	}
	return last.Add(cluster.Span(d.x.Spec.Policy.ProgressSeconds))
}

// countingUnready is a decision of its own that does so, in which nobody has been chosen.
func (d *decision) countingUnready() *decision {
	trial := d.trial()
	trial.x.CountUnready()
	trial.curing = true
	return trial
}
