package opensearch

import (
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// verdict returns the verdict on the whole database, from every copy. The worst line that applies
// is the verdict; its reason names one example and how many there are.
//
//   - Red: a shard has no primary that serves, or OpenSearch says red.
//   - Unknown: a copy is in a state that this adapter does not know.
//   - Yellow: a copy is being built, or its allocation failed and will be tried again,
//     or a node could take it and has not; or copies are missing while others move or
//     changes of the cluster are queued.
//   - Recoverable: all that is missing waits for a node, or for a person. OpenSearch
//     waits for a node's return, allocation is held back, no node that is here may take
//     the copy, such as that of a primary on a newer version, or OpenSearch itself says
//     that it found no place: filters, disk space, awareness, too many failed tries. No
//     restart makes that worse but one of the nodes that have the shard's other copies,
//     which its group keeps.
//   - Green: nothing is missing. A copy for which there is no node at all, as all
//     replicas of a single node, is not missed.
func (r *reading) verdict(h health) engines.Health {
	var red, unknown, building, moving engines.Tally[shard]
	missing := map[absence]*engines.Tally[shard]{surplus: {}, failed: {}, placeless: {}, waiting: {}, stuck: {}}
	takers := r.takers()
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
			switch c.state {
			case copyUnknown:
				unknown.Add(s)
			case initializing:
				building.Add(s)
			case relocating:
				moving.Add(s)
			case unassigned:
				missing[r.absence(s, c, takers)].Add(s)
			}
		}
	}
	held := missing[waiting].N + missing[placeless].N
	text := missing[waiting].Text("missing until a node is back or updated: a copy of")
	if missing[placeless].N > 0 {
		text = missing[placeless].Text("opensearch finds no node that may take it, missing: a copy of")
	}
	switch {
	case red.N > 0:
		return engines.Health{Verdict: engines.VerdictRed, Reason: red.Text("no primary serves of")}
	case h.status == "red":
		return engines.Health{Verdict: engines.VerdictRed, Reason: "opensearch says red"}
	case unknown.N > 0:
		return engines.Health{Reason: unknown.Text("unknown state of a copy of")}
	case missing[failed].N > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: missing[failed].Text("allocation failed of a copy of")}
	case building.N > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: building.Text("being built: a copy of")}
	case missing[stuck].N > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: missing[stuck].Text("nodes could take them, missing: a copy of")}
	case held > 0 && (h.queued || h.fetching > 0):
		return engines.Health{Verdict: engines.VerdictYellow, Reason: "changes of the cluster are queued; " + text}
	case held > 0 && moving.N > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: moving.Text("being moved: a copy of") + "; " + text}
	case held > 0:
		return engines.Health{Verdict: engines.VerdictRecoverable, Reason: text}
	case missing[surplus].N > 0:
		return engines.Health{Verdict: engines.VerdictGreen, Reason: missing[surplus].Text("more copies are configured than there are nodes for, of")}
	}
	return engines.Health{Verdict: engines.VerdictGreen}
}

// absence is why a copy is nowhere.
type absence uint8

const (
	stuck     absence = iota // a node could take it, and has not
	surplus                  // there is no node for it at all
	failed                   // to be allocated, and is tried again
	placeless                // OpenSearch has looked, and no node may take it
	waiting                  // for a node
)

func (r *reading) absence(s shard, c shardCopy, takers int) absence {
	switch {
	case r.surplus(s, c, takers):
		return surplus
	case c.why != "ALLOCATION_FAILED" && (c.delayed || r.settings.throttled() || !r.takable(s)):
		return waiting
	case r.placeless[s.String()]:
		return placeless
	case c.why == "ALLOCATION_FAILED":
		return failed
	}
	return stuck
}

// undecided returns the shards for which OpenSearch must be asked whether a node may take an
// unassigned replica: as far as is known here, one could.
func (r *reading) undecided() []shard {
	takers := r.takers()
	var out []shard
	for _, s := range r.state.shards {
		if slices.ContainsFunc(s.copies, func(c shardCopy) bool {
			if c.primary || c.state != unassigned {
				return false
			}
			why := r.absence(s, c, takers)
			return why == stuck || why == failed
		}) {
			out = append(out, s)
		}
	}
	return out
}

// takable reports whether a present node could take a missing replica. The node may not be older
// than that of the primary, because an older version cannot read what a newer one writes. An
// unknown node counts as able.
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
