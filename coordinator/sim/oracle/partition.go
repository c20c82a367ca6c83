package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// belowPartition reports whether a pod does not work, and nobody may correct it: without guards, the
// partition would free those above it as well, and they may not all go with it. If only a copy on
// it is broken they go one after the other, and the highest may not. Only a person can weigh that;
// the phase must be Stalled.
func (o *Oracle) belowPartition(pod *corev1.Pod) bool {
	return !o.db.Whole(pod.Name) && o.keptBelow(pod)
}

// recoversBelow reports the same for a pod that would serve everything, if a copy on it did not
// recover for ever, so that it is unavailable for ever.
func (o *Oracle) recoversBelow(pod *corev1.Pod) bool {
	return o.db.RecoversForEver(pod.Name) && o.keptBelow(pod)
}

// keptBelow reports whether a pod that is to go before an unavailable pod below the partition may
// not go while that is unavailable.
func (o *Oracle) keptBelow(pod *corev1.Pod) bool {
	if o.server.Cluster(o.limits.Cluster).Status.Phase != model.ClusterStalled || !o.wanted(pod.Name) {
		return false
	}
	above := o.freedBefore(pod)
	if len(above) == 0 {
		return false
	}
	with := map[string]bool{}
	for _, name := range above {
		with[name] = true
	}
	if o.db.There(pod.Name) {
		with = map[string]bool{above[0]: true}
	}
	return o.tooMany(with, 0)
}

// freedBefore returns the outdated pods that the partition frees before an outdated pod below it,
// the highest first. With guards there are none.
func (o *Oracle) freedBefore(pod *corev1.Pod) []string {
	set := o.setOf(pod.Name)
	if !o.limits.ByPartition || o.server.Enforce || set == nil {
		return nil
	}
	template := workload.Template(set)
	first := workload.First(set) + int(workload.Partition(set)) // Kubernetes counts it from the first ordinal on
	waits := func(n int) bool {
		pod := o.server.Pod(workload.PodName(set, n))
		return n < first && pod != nil && workload.Revision(pod) != template
	}
	n := workload.Ordinal(pod.Name)
	if !waits(n) {
		return nil
	}
	var names []string
	for above := workload.First(set) + int(*set.Spec.Replicas) - 1; above > n; above-- {
		if waits(above) {
			names = append(names, workload.PodName(set, above))
		}
	}
	return names
}

// beforeABrokenCopy reports whether a copy is broken on a pod that the partition frees only after
// this one; or it is not back, and nothing has gone on for long.
func (o *Oracle) beforeABrokenCopy(pod *corev1.Pod) bool {
	if !o.limits.ByPartition || o.server.Enforce {
		return false
	}
	lasting := o.quietFor() >= progress(o.server.Cluster(o.limits.Cluster))
	return slices.ContainsFunc(o.Desired(), func(name string) bool {
		other := o.server.Pod(name)
		after := other != nil && o.outdated(other) && o.setOf(name) == o.setOf(pod.Name) && workload.Ordinal(name) < workload.Ordinal(pod.Name)
		return after && (o.db.Ails(name) || lasting && o.db.Up(name) && !o.db.Whole(name))
	})
}

// tooMany reports whether more may be unavailable with these pods, and so many besides, than is
// allowed, or none of a shard would be left, or no majority of those who vote.
func (o *Oracle) tooMany(with map[string]bool, besides int) bool {
	away, zones := besides, map[string]bool{}
	limit, units := o.apart()
	for _, name := range o.Desired() {
		if with[name] || o.away(name) {
			away++
			if o.limits.Zones > 0 || units {
				zones[o.Zone(name)] = true
			}
		}
	}
	if len(zones) <= 1 {
		limit = o.limits.Pods
	}
	if away > limit || o.limits.Zones > 0 && len(zones) > o.limits.Zones {
		return true
	}
	for _, shard := range o.db.Truth() {
		out, takes := 0, false
		for _, c := range shard.Copies {
			if with[c.Pod] || !c.Active || o.away(c.Pod) {
				out++
			}
			takes = takes || with[c.Pod] && c.Alive
		}
		if takes && out > 1 && (out > o.spares(shard) || out == len(shard.Copies)) {
			return true
		}
	}
	return false
}

// spares returns how many copies of a shard may be unavailable: of a quorum, as many as leave a
// majority.
func (o *Oracle) spares(shard database.Shard) int {
	if shard.Least > 0 {
		return len(shard.Copies) - shard.Least
	}
	return o.limits.Shard
}

// away reports whether a pod does not serve all that it can, or is never settled.
func (o *Oracle) away(pod string) bool { return !o.db.Whole(pod) || o.db.RecoversForEver(pod) }

// apart is how many pods may be unavailable that are not of one unit, and whether whole units go.
func (o *Oracle) apart() (pods int, units bool) {
	p := o.server.Cluster(o.limits.Cluster).Spec.Policy
	if p.Unit != model.UnitZone || p.MaxUnavailable == nil || p.MaxUnavailable.Text != "" {
		return o.limits.Pods, false
	}
	return int(p.MaxUnavailable.Int), true
}

// restOfUnit is how many pods go together with one, which need room as well.
func (o *Oracle) restOfUnit(pod *corev1.Pod) int {
	rest := 0
	for _, name := range o.server.Names(api.Pods) {
		other := o.server.Pod(name)
		together := o.db.RankOf(name) == o.db.RankOf(pod.Name) && (name == o.overseer) == (pod.Name == o.overseer)
		if _, units := o.apart(); units && name != pod.Name && o.wanted(name) && !o.through(other) && o.db.Whole(name) &&
			together && o.Zone(name) == o.Zone(pod.Name) {
			rest++
		}
	}
	return rest
}
