package oracle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// undone is a partition that no longer keeps pods because of somebody else: a new template came
// while it was low, or its StatefulSet was created again. Rollcall puts it back up, but not while a
// pod above it does not serve.
type undone struct {
	// last is when something was last in the way of that; away whether it is now.
	last time.Duration
	away bool
}

// Surprise notes that somebody has undone what kept a controller from the pods of a StatefulSet.
func (o *Oracle) Surprise(set string) {
	o.revised = o.loop.Now()
	o.undone[set] = undone{last: o.revised}
}

// moved notes that a partition was moved: what goes because of that is not somebody else's doing.
func (o *Oracle) moved(set string) { delete(o.undone, set) }

// updatePartitions updates which partitions could not go back up in time. One that could, and was
// left, counts as Rollcall's doing for good.
func (o *Oracle) updatePartitions() {
	at := o.loop.Now()
	for set, p := range o.undone {
		away := slices.ContainsFunc(o.Desired(), func(pod string) bool { return o.setOf(pod).Name == set && o.keepsPartitionDown(o.server.Pod(pod)) })
		switch {
		case !p.away && at-p.last > shown:
			delete(o.undone, set)
			continue
		case p.away || away:
			p.last = at
		}
		p.away = away
		o.undone[set] = p
	}
}

// keepsPartitionDown reports whether nobody has asked for a pod to go, nothing keeps its controller from
// it, and it does not serve.
func (o *Oracle) keepsPartitionDown(pod *corev1.Pod) bool {
	if pod == nil || pod.DeletionTimestamp != nil || !o.outdated(pod) || o.claimOf(pod) != nil {
		return false
	}
	set := o.setOf(pod.Name)
	if workload.Ordinal(pod.Name) < workload.First(set)+int(workload.Partition(set)) {
		return false
	}
	return !workload.Ready(pod) || !o.db.Serves(pod.Name)
}

// leftByOthers reports whether the controller removes a pod because of a partition that Rollcall
// did not lower, and could not put back up.
func (o *Oracle) leftByOthers(pod *corev1.Pod) bool {
	set := o.setOf(pod.Name)
	if set == nil || !o.limits.ByPartition || o.server.Enforce {
		return false
	}
	p, is := o.undone[set.Name]
	return is && (p.away || o.loop.Now()-p.last <= shown)
}
