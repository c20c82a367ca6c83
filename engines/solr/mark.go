package solr

import (
	"strings"
)

// place is one replica.
type place struct{ collection, shard, replica string }

func (p place) String() string { return p.collection + "/" + p.shard + "/" + p.replica }

const (
	propertyPreferred = "preferredLeader"
	propertyMark      = "rollcall"
)

// mark is stored beside a preferredLeader that Rollcall set: a replica property "rollcall" whose
// value names the claim, the node, and the replica that was preferred before. So the database
// itself remembers what to undo, however many shards there are and whichever agent died, and a
// sweep finds its own.
type mark struct {
	claim string
	node  string // the node that handed over
	prior string // the replica that was preferred before; empty means none
}

func (m mark) String() string { return m.claim + "/" + m.node + "/" + m.prior }

// parseMark parses a mark. Anything that is not in our form is foreign, and stays.
func parseMark(value string) (mark, bool) {
	parts := strings.Split(value, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return mark{}, false
	}
	return mark{claim: parts[0], node: parts[1], prior: parts[2]}, true
}

// owner returns which replica is preferred in the shard now, and which one was before Rollcall
// changed it: our own marks are skipped.
func (s shard) owner() (holder, prior string) {
	for _, r := range s.replicas {
		if !r.preferred {
			continue
		}
		holder, prior = r.name, r.name
		if m, ok := parseMark(r.mark); ok {
			prior = m.prior
		}
		return holder, prior
	}
	return "", ""
}
