package solr

import (
	"slices"
	"strings"
)

// clusterState is what CLUSTERSTATUS says, in sorted order. Readers share it after decoding and
// must not change it.
type clusterState struct {
	live        []string // node names
	collections []collection
}

type collection struct {
	name   string
	shards []shard
}

type shard struct {
	name     string
	state    string
	replicas []replica
}

type replica struct {
	name      string // core_node5; unique in the collection
	core      string
	node      string
	baseURL   string
	state     string
	kind      string // NRT, TLOG, PULL; old data has none, which means NRT
	leader    bool   // the flag as stored; see leads
	preferred bool   // carries preferredLeader
	mark      string // our property, see mark.go
}

func (c *clusterState) isLive(node string) bool {
	_, found := slices.BinarySearch(c.live, node)
	return found
}

// counts reports whether the shard serves. inactive: the parent of a finished split;
// recovery_failed: the leftover of a failed one.
func (s shard) counts() bool { return s.state != "inactive" && s.state != "recovery_failed" }

// building reports whether the shard is a part of a split that does not serve yet.
func (s shard) building() bool { return s.state == "construction" || s.state == "recovery" }

// known reports whether this adapter understands the state.
func (s shard) known() bool { return s.state == "active" || s.building() || !s.counts() }

// canLead reports whether replicas of this type take part in elections.
func (r replica) canLead() bool { return r.kind == "" || r.kind == "NRT" || r.kind == "TLOG" }

// lags is 1 for a copy whose index follows that of its leader, so that it has to replay its log when it leads.
func (r replica) lags() int {
	if r.kind == "TLOG" {
		return 1
	}
	return 0
}

// active reports whether the replica serves: what it says, and that its node lives.
func (c *clusterState) active(r replica) bool { return r.state == "active" && c.isLive(r.node) }

// leads reports whether the replica leads its shard. A leader flag on a copy that does not serve
// means nothing.
func (c *clusterState) leads(r replica) bool { return r.leader && c.active(r) }

func (c *clusterState) leader(s shard) (replica, bool) {
	for _, r := range s.replicas {
		if c.leads(r) {
			return r, true
		}
	}
	return replica{}, false
}

// hosted counts replicas of any state on the node.
func (c *clusterState) hosted(node string) int {
	n := 0
	for r := range c.replicas() {
		if r.node == node {
			n++
		}
	}
	return n
}

func (c *clusterState) replicas() func(yield func(replica) bool) {
	return func(yield func(replica) bool) {
		for _, col := range c.collections {
			for _, s := range col.shards {
				for _, r := range s.replicas {
					if !yield(r) {
						return
					}
				}
			}
		}
	}
}

// address by which others reach the replica's node: host:port.
func (r replica) address() string {
	if _, rest, ok := strings.Cut(r.baseURL, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return host
	}
	return nodeAddress(r.node)
}

// nodeAddress returns the address in a node name, which is host:port_context.
func nodeAddress(node string) string {
	if i := strings.LastIndexByte(node, '_'); i >= 0 {
		return node[:i]
	}
	return node
}
