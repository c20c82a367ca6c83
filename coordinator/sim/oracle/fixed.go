package oracle

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// fixed is I8 for a primary that keeps its role: it goes after all that are to go, too, and when those
// of the others that run have what it has.
func (o *Oracle) fixed(removed *corev1.Pod, primary string, shard database.Shard) {
	if removed.Name != primary || !o.outdated(removed) || o.loop.Now()-o.revised <= shown || !o.wanted(primary) || !o.asks(removed, "I8") || !o.asks(removed, primaries) {
		return
	}
	for _, c := range shard.Copies {
		other := o.server.Pod(c.Pod)
		if c.Pod == primary || other == nil || other.DeletionTimestamp != nil || !workload.Ready(other) {
			continue
		}
		switch since, is := o.well[other.UID]; {
		case o.outdated(other) && o.wanted(c.Pod) && is && o.loop.Now()-since > shown:
			o.Accuse("I8", "%s goes, which is the primary and stays it, before %s", primary, c.Pod)
		case !c.Active && o.db.Listed(c.Pod) && !o.db.RecoversInVain(c.Pod):
			o.Accuse("I8", "%s goes, which is the primary and stays it, and %s has not what it has", primary, c.Pod)
		}
	}
}

// stays is that nobody but a fixed primary ever leads.
func (o *Oracle) stays(truth []database.Shard) {
	primary := o.db.Fixed()
	if primary == "" {
		return
	}
	for _, shard := range truth {
		if shard.Leader != "" && shard.Leader != primary {
			o.Accuse("I8", "%s leads %s, and %s is the only one that may", shard.Leader, shard.ID, primary)
		}
	}
}
