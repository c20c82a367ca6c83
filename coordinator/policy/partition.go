package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// allowForce is the annotation with which a person hands a pool to its controller.
const allowForce = `the annotation rollcall.dev/force-rolling-update: "true" on the StatefulSet`

// waiting are the outdated pods below the partition of a pool, the highest ordinal first. Lowering
// the partition to one of them frees all before it.
type waiting struct {
	pods  []*cluster.Pod
	next  int  // those before have been chosen
	tried bool // a correction was
}

// addWaiting lists the pods below each partition. A pod that is claimed or terminating goes anyway,
// so no other waits for it.
func (d *decision) addWaiting() {
	d.waiting = make([]waiting, len(d.x.Pools))
	d.raised = make([]*cluster.Pod, len(d.x.Pools))
	for i := range d.x.Pools {
		d.raised[i] = d.handed(&d.x.Pools[i], i)
	}
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		if p.OwnPool.ByPartition && p.Desired && cluster.IsOutdated(p) && p.Ordinal < p.OwnPool.Partition && p.Phase != model.PodPhaseTerminating && p.Claim == nil {
			d.waiting[p.PoolPos].pods = append(d.waiting[p.PoolPos].pods, p)
		}
	}
}

// between returns the outdated pods that lowering the partition to a candidate would free with it,
// the highest ordinal first.
func (d *decision) between(c *candidate) []*cluster.Pod {
	w := &d.waiting[c.PoolPos]
	for w.next < len(w.pods) && d.isChosen[w.pods[w.next].At] {
		w.next++
	}
	left := w.pods[w.next:]
	end, _ := slices.BinarySearchFunc(left, c.Ordinal, func(p *cluster.Pod, ordinal int32) int { return cmp.Compare(ordinal, p.Ordinal) })
	return left[:end]
}

// partitionOrder lets the partition go down by one outdated pod at a time, so the highest ordinal
// goes first. It has no override, because that would free other pods.
func (d *decision) partitionOrder(c *candidate) *finding {
	pool := c.OwnPool
	if !pool.ByPartition || c.forced || c.action != model.ActionLowerPartition {
		return nil
	}
	if raised := d.raised[c.PoolPos]; raised != nil {
		f := found(fmt.Sprintf("the partition of pool %s goes back up first, as nothing keeps the controller from %s", pool.Name, raised.Name),
			"the partition back at rest")
		f.firm, f.others = true, true
		return f
	}
	between := d.between(c)
	if len(between) == 0 || (c.outside || d.curing) && d.guardsClosed(between) {
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

// orForce adds force as a way out. Without guards a pod that is live and not Ready in time may wait
// for one that the partition frees with it, and that one for it, so only a person can end that for
// sure. The controller of an OrderedReady pool updates no pod in the meantime, wherever the
// partition is.
func (d *decision) orForce(c *candidate) string {
	switch {
	case !c.NotInTime || c.action != model.ActionLowerPartition || c.forced || d.x.Guards:
		return ""
	case c.OwnPool.Management == model.ManagementOrderedReady:
		return fmt.Sprintf(", or %s, and then %s deleted", allowForce, c.Name)
	}
	return ", or " + allowForce
}

// guardsClosed reports whether lowering the partition past these pods frees none of them, because
// their guards keep the controller from them. That is allowed only for broken pods; others would go
// out of order.
func (d *decision) guardsClosed(pods []*cluster.Pod) bool {
	return d.x.Guards && !slices.ContainsFunc(pods, func(p *cluster.Pod) bool { return p.Guard != model.GuardClosed })
}

// wouldReturnOutdated holds an updated pod below the partition of a pool in mid-rollout, because it
// would come back outdated.
func (d *decision) wouldReturnOutdated(c *candidate) *finding {
	if !c.OwnPool.ByPartition || c.forced {
		return nil
	}
	comesBack := c.action == model.ActionRestart || c.action == model.ActionHandoff || c.action == model.ActionEvacuate
	if !comesBack || cluster.IsOutdated(c.Pod) || c.Ordinal >= c.OwnPool.Partition || !d.outdated[c.PoolPos] {
		return nil
	}
	f := found(fmt.Sprintf("the partition of pool %s is %d and the pool in mid-rollout: it would come back on the old revision",
		c.OwnPool.Name, c.OwnPool.Partition), fmt.Sprintf("a partition of at most %d, or all of the pool on its update revision", c.Ordinal))
	f.firm, f.others = true, true
	return f
}

// sortByOrdinal sorts the pods below a partition if several are asked about together.
func sortByOrdinal(unit []*candidate) {
	if slices.ContainsFunc(unit, func(c *candidate) bool { return c.action == model.ActionLowerPartition }) {
		slices.SortFunc(unit, func(a, b *candidate) int { return cmp.Compare(a.At, b.At) })
	}
}

// frees reports whether the partition is to be lowered to the candidate.
func (c *candidate) frees() bool { return c.action == model.ActionLowerPartition && !c.forced }

// atPartition reports whether the partition is lowered to no pod below before the candidate is
// going, whatever is done to it.
func (c *candidate) atPartition() bool {
	return c.OwnPool.ByPartition && !c.forced && c.Desired && cluster.IsOutdated(c.Pod) && c.Ordinal < c.OwnPool.Partition
}

// waitsFor reports whether o can go only after c because of the partition.
func (d *decision) waitsFor(o *cluster.Pod, c *candidate) bool {
	if o.OwnPool != c.OwnPool || !cluster.IsOutdated(o) || o.Ordinal >= c.Ordinal {
		return false
	}
	return c.frees() || c.atPartition() && d.freed[o.At]
}

// withoutWaiting splits the claims. behind are those on pods that can go only after a claimed one
// because of the partition. They are rechecked when it has gone; otherwise neither might ever go.
func (d *decision) withoutWaiting(claimed string) (claims, behind []model.Claim) {
	at := slices.IndexFunc(d.order, func(c candidate) bool { return c.Name == claimed })
	for _, claim := range d.x.Snapshot.Cluster.Status.Claims {
		o, known := d.x.ByName[claim.Pod]
		if known && at >= 0 && !d.x.Outage() && d.waitsBehind(&d.x.Pods[o], &d.order[at]) {
			behind = append(behind, claim)
		} else {
			claims = append(claims, claim)
		}
	}
	return claims, behind
}

// waitsBehind reports whether o is claimed, has not gone, and the partition frees it after c, or
// together with c because no guard keeps c.
func (d *decision) waitsBehind(o *cluster.Pod, c *candidate) bool {
	return o.Claim != nil && o.Claim.Action == model.ActionLowerPartition && o.Phase != model.PodPhaseTerminating && d.waitsFor(o, c) &&
		!(d.x.Guards && c.Guard == model.GuardClosed)
}

// isStarting lets the partition wait for a pod that clones or recovers, for as long as a start may
// take. A broken pod shows that earlier.
func (d *decision) isStarting(c *candidate) *finding {
	if c.action != model.ActionLowerPartition || c.forced || c.broken || c.Live || d.x.Overdue(c.Pod) {
		return nil
	}
	switch c.Phase {
	case model.PodPhasePending, model.PodPhaseNotStarted, model.PodPhaseStarted:
	default:
		return nil
	}
	till := c.Since.Add(d.x.StartSeconds())
	return found(fmt.Sprintf("it has been starting for %s, and policy.startSeconds gives it %s", seconds(d.x.Now.Sub(c.Since.Time)), seconds(d.x.StartSeconds())),
		c.Name+" Ready and live").until(till)
}

// inHands finds that nothing keeps the StatefulSet controller from this pod, so that it may update
// it at any time. The controller of an OrderedReady pool waits for a pod that is not Ready, and
// never updates it.
func (d *decision) inHands(c *candidate) *finding {
	if !d.x.LeftOpen(c.Pod) || c.outside || c.Claim != nil || d.drained || d.x.Guards && !c.forced {
		return nil
	}
	if c.OwnPool.Management == model.ManagementOrderedReady && c.Phase != model.PodPhaseReady && !c.forced {
		return nil
	}
	why := "no guard refuses that"
	if c.OwnPool.Force {
		why = allowForce + " lets it"
	}
	return found(fmt.Sprintf("it is on its way: it is outdated, the partition of pool %s is %d, and its controller takes it, because %s",
		c.OwnPool.Name, c.OwnPool.Partition, why), "the recreated pod back")
}

// partitions returns the moves of partitions that free no pod: back to rest, and past updated pods.
func (d *decision) partitions() []model.Line {
	if !d.movesPartitions() {
		return nil
	}
	var lines []model.Line
	from := 0
	for i := range d.x.Pools {
		to := from
		for to < len(d.x.Pods) && d.x.Pods[to].OwnPool == &d.x.Pools[i] {
			to++
		}
		if p := &d.x.Pools[i]; p.MovesPartition() && to > from {
			if l := d.partition(p, d.x.Pods[from:to]); l != nil {
				lines = append(lines, *l)
			}
		}
		from = to
	}
	return lines
}

// movesPartitions reports whether the partitions of this database are ours to move.
func (d *decision) movesPartitions() bool {
	return len(d.problems) == 0 && d.x.Spec.Update.Mode != model.ModeObserve && d.x.Snapshot.Cluster.Status.Initialized
}

// handed returns the outdated pod, of those at or above a pool's partition, for which the partition
// goes back up: nobody asked for it to go, and nothing keeps its controller from it. A broken pod
// there would come back unchanged, so then the partition stays.
func (d *decision) handed(p *cluster.Pool, position int) *cluster.Pod {
	if !d.movesPartitions() || !p.MovesPartition() || d.x.Guards || p.Ordered != nil {
		return nil
	}
	var handed *cluster.Pod
	for i := range d.x.Pods {
		o := &d.x.Pods[i]
		switch {
		case int(o.PoolPos) != position || !d.x.LeftOpen(o) || o.Claim != nil || o.Phase == model.PodPhaseTerminating:
		case !o.Serves:
			return nil
		case handed == nil:
			handed = o
		}
	}
	return handed
}

// partition returns the move of one pool's partition. Its pods come with the highest ordinal first.
func (d *decision) partition(p *cluster.Pool, pods []cluster.Pod) *model.Line {
	outdated, away := 0, 0
	for i := range pods {
		outdated += cluster.Count(cluster.IsOutdated(&pods[i]))
		away += cluster.Count(pods[i].Unavailable)
	}
	switch {
	case outdated == 0 && (away > 0 || p.Ordered != nil && *p.Ordered > p.Start):
		return nil // a dying pod could come back on the old revision, or a person said where to stop
	case outdated == 0 && p.Partition < model.FirstOrdinalNone:
		return &model.Line{Pool: p.Name, Partition: model.FirstOrdinalNone, Reason: fmt.Sprintf("all of it is on revision %s and back", p.Revision)}
	case outdated == 0:
		return nil
	case d.raised[pods[0].PoolPos] != nil:
		return &model.Line{Pool: p.Name, Partition: model.FirstOrdinalNone, Reason: fmt.Sprintf("%s is outdated, nobody asked for it to go, and no guard keeps the controller from it", d.raised[pods[0].PoolPos].Name)}
	case d.paused() != nil:
		return nil
	}
	return past(p, pods)
}

// past lowers the partition past the highest pods as long as they are updated: below the partition
// they would come back on the old revision.
func past(p *cluster.Pool, pods []cluster.Pod) *model.Line {
	top := int64(p.Start) + int64(p.Replicas)
	line := min(int64(p.Partition), top)
	passed := 0
	for i := range pods {
		o := &pods[i]
		if int64(o.Ordinal) != line-1 {
			continue
		}
		stop := p.Ordered != nil && o.Ordinal < *p.Ordered
		if stop || o.Phase == model.PodPhaseMissing || o.Revision != p.Revision {
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
