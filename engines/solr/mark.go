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

// mark is what we write beside a preferredLeader that we set: a replica property
// "rollcall" whose value says for which claim, for which node, and which replica
// was preferred before. So the database itself remembers what to undo, however
// many shards there are and whichever agent died; and a sweep knows its own.
type mark struct {
	claim string
	node  string // the node that handed over
	prior string // the replica that was preferred before; empty means none
}

func (m mark) String() string { return m.claim + "/" + m.node + "/" + m.prior }

// parseMark: anything that is not in our form is foreign, and stays.
func parseMark(value string) (mark, bool) {
	parts := strings.Split(value, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return mark{}, false
	}
	return mark{claim: parts[0], node: parts[1], prior: parts[2]}, true
}

// owner finds who is preferred in the shard now, and who was before any of us
// interfered: our own marks are looked through.
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
