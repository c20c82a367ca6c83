package opensearch

import (
	"fmt"
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
	var red, unknown, building, failed, stuck, waiting, surplus tally
	takers := r.takers()
	throttled := r.settings.throttled()
	for _, s := range r.state.shards {
		if p, ok := s.primary(); !ok || p.state == unassigned || p.state == initializing {
			if ok && p.why == "INDEX_CREATED" || ok && p.state == initializing && h.status != "red" {
				building.add(s)
			} else {
				red.add(s)
			}
			continue
		}
		for _, c := range s.copies {
			switch {
			case c.state == copyUnknown:
				unknown.add(s)
			case c.state == initializing:
				building.add(s)
			case c.state != unassigned:
			case r.surplus(s, c, takers):
				surplus.add(s)
			case c.why == "ALLOCATION_FAILED":
				failed.add(s)
			case c.delayed || throttled || !r.takable(s):
				waiting.add(s)
			default:
				stuck.add(s)
			}
		}
	}
	switch {
	case red.n > 0:
		return engines.Health{Verdict: engines.Red, Reason: red.text("no primary serves of")}
	case h.status == "red":
		return engines.Health{Verdict: engines.Red, Reason: "opensearch says red"}
	case unknown.n > 0:
		return engines.Health{Reason: unknown.text("unknown state of a copy of")}
	case failed.n > 0:
		return engines.Health{Verdict: engines.Yellow, Reason: failed.text("allocation failed of a copy of")}
	case building.n > 0:
		return engines.Health{Verdict: engines.Yellow, Reason: building.text("being built: a copy of")}
	case stuck.n > 0:
		return engines.Health{Verdict: engines.Yellow, Reason: stuck.text("nodes could take them, missing: a copy of")}
	case waiting.n > 0 && (h.queued || h.fetching > 0):
		return engines.Health{Verdict: engines.Yellow, Reason: "changes of the cluster are queued; " + waiting.text("missing: a copy of")}
	case waiting.n > 0:
		return engines.Health{Verdict: engines.Recoverable, Reason: waiting.text("missing until a node is back or updated: a copy of")}
	case surplus.n > 0:
		return engines.Health{Verdict: engines.Green, Reason: surplus.text("more copies are wanted than there are nodes for, of")}
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

// tally counts and keeps the first example.
type tally struct {
	n     int
	first shard
}

func (t *tally) add(s shard) {
	if t.n == 0 {
		t.first = s
	}
	t.n++
}

func (t tally) text(what string) string {
	if t.n == 1 {
		return what + " " + t.first.String()
	}
	return fmt.Sprintf("%s %s and %d more", what, t.first, t.n-1)
}
