package opensearch

import (
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// verdict on the whole database, from every copy. The worst line that holds is
// the verdict; its reason names one example and how many there are.
//
//   - Red: a shard has no primary that serves, or OpenSearch says red.
//   - Unknown: a copy is in a state that this adapter does not know.
//   - Yellow: a copy is being built, or is missing for a reason that no node's
//     return ends: its allocation failed, or a node could take it and has not.
//   - Recoverable: copies are missing and wait for a node: OpenSearch waits for
//     its return, allocation is held back, or no node that is here may take them,
//     such as copies of a primary on a newer version.
//   - Green: nothing is missing. A copy for which there is no node at all, as all
//     replicas of a single node, is not missed.
func (r *reading) verdict(h health) engines.Health {
	var red, unknown, building, failed, stuck, waiting, surplus engines.Tally[shard]
	takers := r.takers()
	throttled := r.settings.throttled()
	for _, s := range r.state.shards {
		if p, ok := s.primary(); !ok || p.state == unassigned || p.state == initializing {
			if ok && p.why == "INDEX_CREATED" || ok && p.state == initializing && h.status != "red" {
				building.Add(s)
			} else {
				red.Add(s)
			}
			continue
		}
		for _, c := range s.copies {
			switch {
			case c.state == copyUnknown:
				unknown.Add(s)
			case c.state == initializing:
				building.Add(s)
			case c.state != unassigned:
			case r.surplus(s, c, takers):
				surplus.Add(s)
			case c.why == "ALLOCATION_FAILED":
				failed.Add(s)
			case c.delayed || throttled || !r.takable(s):
				waiting.Add(s)
			default:
				stuck.Add(s)
			}
		}
	}
	switch {
	case red.N > 0:
		return engines.Health{Verdict: engines.Red, Reason: red.Text("no primary serves of")}
	case h.status == "red":
		return engines.Health{Verdict: engines.Red, Reason: "opensearch says red"}
	case unknown.N > 0:
		return engines.Health{Reason: unknown.Text("unknown state of a copy of")}
	case failed.N > 0:
		return engines.Health{Verdict: engines.Yellow, Reason: failed.Text("allocation failed of a copy of")}
	case building.N > 0:
		return engines.Health{Verdict: engines.Yellow, Reason: building.Text("being built: a copy of")}
	case stuck.N > 0:
		return engines.Health{Verdict: engines.Yellow, Reason: stuck.Text("nodes could take them, missing: a copy of")}
	case waiting.N > 0 && (h.queued || h.fetching > 0):
		return engines.Health{Verdict: engines.Yellow, Reason: "changes of the cluster are queued; " + waiting.Text("missing: a copy of")}
	case waiting.N > 0:
		return engines.Health{Verdict: engines.Recoverable, Reason: waiting.Text("missing until a node is back or updated: a copy of")}
	case surplus.N > 0:
		return engines.Health{Verdict: engines.Green, Reason: surplus.Text("more copies are wanted than there are nodes for, of")}
	}
	return engines.Health{Verdict: engines.Green}
}

// takable tells whether a node that is here could take a missing replica. It may
// not be older than the node of the primary: what a newer version writes an older
// one cannot read. Who is not known is taken for able.
func (r *reading) takable(s shard) bool {
	p, _ := s.primary()
	wanted := r.facts[p.node].version
	excluded := r.settings.excluded()
	for id, node := range r.state.nodes {
		f, known := r.facts[id]
		switch {
		case known && !f.takesCopies(), s.on(id), slices.Contains(excluded, node.name):
		case known && older(f.version, wanted):
		default:
			return true
		}
	}
	return false
}
