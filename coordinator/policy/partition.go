package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// allowForce is the annotation with which a person hands a pool to its controller.
const allowForce = `the annotation rollcall.dev/force-rolling-update: "true" on the StatefulSet`

// waiting are the outdated pods below the hold line of a pool, the highest
// ordinal first. Lowering the line to one of them frees all before it.
type waiting struct {
	pods  []*pod
	next  int  // those before have been chosen
	tried bool // a correction was
}

// addWaiting lists who waits below which line. A pod that is claimed or
// terminating goes anyway, so it stands in nobody's way.
func (d *decision) addWaiting() {
	d.waiting = make([]waiting, len(d.x.pools))
	d.raised = make([]*pod, len(d.x.pools))
	for i := range d.x.pools {
		d.raised[i] = d.handed(&d.x.pools[i], i)
	}
	for i := range d.x.pods {
		p := &d.x.pods[i]
		if p.pool.byLine && p.desired && isOutdated(p) && p.Ordinal < p.pool.Partition && p.Phase != model.Terminating && p.claim == nil {
			d.waiting[p.poolPos].pods = append(d.waiting[p.poolPos].pods, p)
		}
	}
}

// between are the outdated pods that lowering the line to a candidate would
// free with it, the highest ordinal first.
func (d *decision) between(c *candidate) []*pod {
	w := &d.waiting[c.poolPos]
	for w.next < len(w.pods) && d.isChosen[w.pods[w.next].at] {
		w.next++
	}
	left := w.pods[w.next:]
	end, _ := slices.BinarySearchFunc(left, c.Ordinal, func(p *pod, ordinal int32) int { return cmp.Compare(ordinal, p.Ordinal) })
	return left[:end]
}

// lineOrder: the line goes down by one outdated pod at a time, so the highest
// ordinal goes first. No override of this can be had: it would take others.
func (d *decision) lineOrder(c *candidate) *finding {
	pool := c.pool
	if !pool.byLine || c.forced || c.action != model.LowerPartition {
		return nil
	}
	if raised := d.raised[c.poolPos]; raised != nil {
		f := found(fmt.Sprintf("the partition of pool %s goes back up first, as nothing keeps the controller from %s", pool.Name, raised.Name),
			"the partition back at rest")
		f.firm, f.others = true, true
		return f
	}
	between := d.between(c)
	if len(between) == 0 || (c.outside || d.curing) && d.shut(between) {
		return nil
	}
	f := found(fmt.Sprintf("the partition of pool %s is %d and goes down by one at a time: %s, which is outdated, goes first",
		pool.Name, pool.Partition, between[0].Name), between[0].Name+" on its way"+d.orForce(c))
	if c.outside {
		d.stuck = true
		f = found(fmt.Sprintf("it is broken and below the partition %d of pool %s: lowering that to %d would free %s with it, such as %s, and not all of them may go now",
			pool.Partition, pool.Name, c.Ordinal, counted(len(between), "outdated pod", "outdated pods"), between[0].Name),
			fmt.Sprintf("%s on its way, or %s", between[0].Name, allowForce))
	}
	f.firm, f.others = true, true
	return f
}

// orForce: without guards a pod that is live and not Ready in time may wait for one that the line frees
// with it, and that one for it. So only a person ends that for sure. The controller of an OrderedReady pool
// takes nobody meanwhile, whatever the line is.
func (d *decision) orForce(c *candidate) string {
	switch {
	case !c.notInTime || c.action != model.LowerPartition || c.forced || d.x.guards:
		return ""
	case c.pool.Management == model.OrderedReady:
		return fmt.Sprintf(", or %s, and then %s deleted", allowForce, c.Name)
	}
	return ", or " + allowForce
}

// shut: lowering the line past these frees none of them, because their guards keep
// the controller from them. It may only be done for what is broken: else they would
// come out of their order.
func (d *decision) shut(pods []*pod) bool {
	return d.x.guards && !slices.ContainsFunc(pods, func(p *pod) bool { return p.Guard != model.GuardClosed })
}

// wouldComeBackOld: below the line of a pool in mid-rollout, what is up to
// date would come back out of date.
func (d *decision) wouldComeBackOld(c *candidate) *finding {
	if !c.pool.byLine || c.forced {
		return nil
	}
	comesBack := c.action == model.Restart || c.action == model.Handoff || c.action == model.Evacuate
	if !comesBack || isOutdated(c.pod) || c.Ordinal >= c.pool.Partition || !d.outdated[c.poolPos] {
		return nil
	}
	f := found(fmt.Sprintf("the partition of pool %s is %d and the pool in mid-rollout: it would come back on the old revision",
		c.pool.Name, c.pool.Partition), fmt.Sprintf("a partition of at most %d, or all of the pool on its update revision", c.Ordinal))
	f.firm, f.others = true, true
	return f
}

// sortByOrdinal is how pods below a line are asked, if several are asked
// together.
func sortByOrdinal(unit []*candidate) {
	if slices.ContainsFunc(unit, func(c *candidate) bool { return c.action == model.LowerPartition }) {
		slices.SortFunc(unit, func(a, b *candidate) int { return cmp.Compare(a.at, b.at) })
	}
}

// frees: the line is to come down to the candidate.
func (c *candidate) frees() bool { return c.action == model.LowerPartition && !c.forced }

// onLine: the line comes to nobody below before the candidate is on its way, whatever is done to it.
func (c *candidate) onLine() bool {
	return c.pool.byLine && !c.forced && c.desired && isOutdated(c.pod) && c.Ordinal < c.pool.Partition
}

// waitsFor: o can go only after c, because of the line.
func (d *decision) waitsFor(o *pod, c *candidate) bool {
	if o.pool != c.pool || !isOutdated(o) || o.Ordinal >= c.Ordinal {
		return false
	}
	return c.frees() || c.onLine() && d.freed[o.at]
}

// withoutWhoWaits parts the claims: behind are those on pods that can go only after a claimed one, because of
// the line, and are asked again when it has gone. Else neither it nor they might ever go.
func (d *decision) withoutWhoWaits(claimed string) (claims, behind []model.Claim) {
	at := slices.IndexFunc(d.order, func(c candidate) bool { return c.Name == claimed })
	for _, claim := range d.x.s.Cluster.Status.Claims {
		o, known := d.x.byName[claim.Pod]
		if known && at >= 0 && !d.x.outage() && d.standsBehind(&d.x.pods[o], &d.order[at]) {
			behind = append(behind, claim)
		} else {
			claims = append(claims, claim)
		}
	}
	return claims, behind
}

// standsBehind: o is claimed, has not gone, and the line frees it after c, or with it: no guard keeps c.
func (d *decision) standsBehind(o *pod, c *candidate) bool {
	return o.claim != nil && o.claim.Action == model.LowerPartition && o.Phase != model.Terminating && d.waitsFor(o, c) &&
		!(d.x.guards && c.Guard == model.GuardClosed)
}

// rankByLine: a pod that the line frees only after others goes with their rank. Of a lower
// one, which a pod has of which nothing is known, too, it would hold up for whom it waits.
func (p *pod) rankByLine(above *int) {
	if p.pool.byLine && p.desired && isOutdated(p) && p.Ordinal < p.pool.Partition {
		*above = max(*above, p.rank)
		p.rank = *above
	}
}

// isStarting: the line waits for a pod that clones or recovers, as long as a start
// may take; what is broken shows that earlier.
func (d *decision) isStarting(c *candidate) *finding {
	if c.action != model.LowerPartition || c.forced || c.broken || c.live || d.x.overdue(c.pod) {
		return nil
	}
	switch c.Phase {
	case model.Pending, model.NotStarted, model.Started:
	default:
		return nil
	}
	till := c.Since.Add(d.x.startSeconds())
	return found(fmt.Sprintf("it has been starting for %s, and policy.startSeconds gives it %s", seconds(d.x.now.Sub(c.Since.Time)), seconds(d.x.startSeconds())),
		c.Name+" Ready and live").until(till)
}

// inHands: nothing keeps the StatefulSet controller from this pod, and it
// takes it when it likes. An OrderedReady one waits for a pod that is not Ready, and never takes it.
func (d *decision) inHands(c *candidate) *finding {
	if !d.x.leftOpen(c.pod) || c.outside || c.claim != nil || d.prepared || d.x.guards && !c.forced {
		return nil
	}
	if c.pool.Management == model.OrderedReady && c.Phase != model.Ready && !c.forced {
		return nil
	}
	why := "no guard refuses that"
	if c.pool.Force {
		why = allowForce + " lets it"
	}
	return found(fmt.Sprintf("it is on its way: it is outdated, the partition of pool %s is %d, and its controller takes it, because %s",
		c.pool.Name, c.pool.Partition, why), "the recreated pod back")
}

// lines are the moves of hold lines that take nothing away: back to where they
// rest, and past pods that are up to date.
func (d *decision) lines() []model.Line {
	if !d.movesLines() {
		return nil
	}
	var lines []model.Line
	from := 0
	for i := range d.x.pools {
		to := from
		for to < len(d.x.pods) && d.x.pods[to].pool == &d.x.pools[i] {
			to++
		}
		if p := &d.x.pools[i]; p.movesLine() && to > from {
			if l := d.line(p, d.x.pods[from:to]); l != nil {
				lines = append(lines, *l)
			}
		}
		from = to
	}
	return lines
}

// movesLines: the hold lines of this database are ours to move.
func (d *decision) movesLines() bool {
	return len(d.problems) == 0 && d.x.spec.Update.Mode != model.Observe && d.x.s.Cluster.Status.Initialized
}

// movesLine: so is that of this pool.
func (p *pool) movesLine() bool {
	return p.byLine && !p.Force && p.Observed && p.Revision != "" && p.Replicas > 0
}

// handed is the outdated pod, of those at or above a pool's hold line, for which the line
// goes back up: nobody asked for it to go, and nothing keeps its controller from it. What
// is broken there would come back as it was, so then the line stays.
func (d *decision) handed(p *pool, position int) *pod {
	if !d.movesLines() || !p.movesLine() || d.x.guards || p.Ordered != nil {
		return nil
	}
	var handed *pod
	for i := range d.x.pods {
		o := &d.x.pods[i]
		switch {
		case int(o.poolPos) != position || !d.x.leftOpen(o) || o.claim != nil || o.Phase == model.Terminating:
		case !o.serves:
			return nil
		case handed == nil:
			handed = o
		}
	}
	return handed
}

// line is the move of one pool's line, whose pods come with the highest
// ordinal first.
func (d *decision) line(p *pool, pods []pod) *model.Line {
	outdated, away := 0, 0
	for i := range pods {
		outdated += count(isOutdated(&pods[i]))
		away += count(pods[i].away)
	}
	switch {
	case outdated == 0 && (away > 0 || p.Ordered != nil && *p.Ordered > p.Start):
		return nil // a dying pod could come back on the old revision; a person said where to stop
	case outdated == 0 && p.Partition < model.RestLine:
		return &model.Line{Pool: p.Name, Partition: model.RestLine, Reason: fmt.Sprintf("all of it is on revision %s and back", p.Revision)}
	case outdated == 0:
		return nil
	case d.raised[pods[0].poolPos] != nil:
		return &model.Line{Pool: p.Name, Partition: model.RestLine, Reason: fmt.Sprintf("%s is outdated, nobody asked for it to go, and no guard keeps the controller from it", d.raised[pods[0].poolPos].Name)}
	case d.paused() != nil:
		return nil
	}
	return p.past(pods)
}

// past lowers the line past the highest pods, as long as they are up to date:
// below it they would come back on the old revision.
func (p *pool) past(pods []pod) *model.Line {
	top := int64(p.Start) + int64(p.Replicas)
	line := min(int64(p.Partition), top)
	passed := 0
	for i := range pods {
		o := &pods[i]
		if int64(o.Ordinal) != line-1 {
			continue
		}
		stop := p.Ordered != nil && o.Ordinal < *p.Ordered
		if stop || o.Phase == model.Missing || o.Revision != p.Revision {
			break
		}
		line--
		passed++
	}
	if passed == 0 {
		return nil
	}
	return &model.Line{Pool: p.Name, Partition: int32(line), Reason: fmt.Sprintf("%s above it on revision %s already, and nothing is taken away", counted(passed, "pod is", "pods are"), p.Revision)}
}
