package opensearch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// reading is the state of the database as the elected manager and the nodes report it.
type reading struct {
	state    *clusterState
	facts    map[string]nodeFacts // by node id; a node that did not answer is missing
	voting   voting
	settings settings
	// placeless are the shards for which OpenSearch says that no node may take any of the
	// unassigned replicas. It is asked only if that is not known otherwise.
	placeless map[string]bool
	// explained is when that was asked last.
	explained time.Time
}

// takers counts the nodes that may hold copies of any index.
func (r *reading) takers() int {
	n := 0
	for id := range r.state.nodes {
		f, known := r.facts[id]
		n += count(!known || f.takesCopies())
	}
	return n
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// groups returns the groups of the policy: shards, the two voting configurations, roles.
func (r *reading) groups() []engines.Group {
	out := make([]engines.Group, 0, len(r.state.shards)+8)
	takers := r.takers()
	for _, s := range r.state.shards {
		out = append(out, r.shardGroup(s, takers))
	}
	out = append(out, r.quorum("voting/committed", r.voting.committed), r.quorum("voting/accepted", r.voting.accepted))
	return append(out, r.roleGroups()...)
}

// surplus reports whether the copy exceeds the number of nodes for it: it was on no node that is
// unavailable, and every node that could take it has a copy already. When a node comes back,
// OpenSearch may give it the copy that nobody ever had, and what remains is the one that it left
// with.
func (r *reading) surplus(s shard, c shardCopy, takers int) bool {
	if c.state != unassigned || c.primary {
		return false
	}
	switch c.why {
	case "INDEX_CREATED", "REPLICA_ADDED", "CLUSTER_RECOVERED", "INDEX_REOPENED", "DANGLING_INDEX_IMPORTED",
		"NEW_INDEX_RESTORED", "EXISTING_INDEX_RESTORED":
	case "NODE_LEFT":
		if _, back := r.state.nodes[c.left]; !back {
			return false
		}
	default:
		return false
	}
	assigned := 0
	for _, other := range s.copies {
		assigned += count(other.node != "")
	}
	return assigned >= takers
}

// shardGroup returns the group of a shard. It has no leader as far as restarts are concerned: when
// the primary's node goes, the elected manager promotes a replica that is in sync, at once.
func (r *reading) shardGroup(s shard, takers int) engines.Group {
	g := engines.Group{ID: s.String(), Kind: engines.GroupShard, Members: make([]engines.Member, 0, len(s.copies))}
	missing := 0
	for _, c := range s.copies {
		switch {
		case r.surplus(s, c, takers):
		case c.state == unassigned:
			missing++
			g.Members = append(g.Members, engines.Member{ID: fmt.Sprintf("missing-%d", missing), State: engines.MemberDown, Eligible: true})
		case c.target != "" && c.state == relocating:
			// Its source serves until the other end has taken over.
			g.Moving = true
			g.Members = append(g.Members, r.copyOn(c.node, engines.MemberActive), r.copyOn(c.target, engines.MemberRecovering))
		default:
			g.Members = append(g.Members, r.copyOn(c.node, memberState(c.state)))
		}
	}
	return g
}

func memberState(s copyState) engines.MemberState {
	switch s {
	case started, relocating:
		return engines.MemberActive
	case initializing:
		return engines.MemberRecovering
	}
	return engines.MemberUnknown
}

// copyOn returns a copy on a node. A node holds one copy of a shard at most, so its id identifies
// the copy.
func (r *reading) copyOn(id string, state engines.MemberState) engines.Member {
	node, there := r.state.nodes[id]
	if !there {
		state = engines.MemberDown
	}
	return engines.Member{ID: id, Node: node.name, State: state, Eligible: true}
}

func (r *reading) quorum(id string, voters []string) engines.Group {
	g := engines.Group{ID: id, Kind: engines.GroupQuorum, MinAvailable: len(voters)/2 + 1}
	for _, v := range slices.Compact(slices.Sorted(slices.Values(voters))) {
		m := r.copyOn(v, engines.MemberActive)
		m.Leader = v == r.state.elected
		g.Members = append(g.Members, m)
	}
	return g
}

// roleData stands for all roles whose nodes hold copies of any index.
const (
	roleData         = "data"
	roleManager      = "cluster_manager"
	roleElected      = "elected_cluster_manager"
	roleCoordinating = "coordinating_only"
)

// served are the roles of a node of which one must stay in the cluster.
func (f nodeFacts) served() []string {
	var out []string
	if len(f.roles) == 0 {
		out = append(out, roleCoordinating)
	}
	if f.takesCopies() {
		out = append(out, roleData)
	}
	for _, r := range f.roles {
		switch r {
		case "ingest", "search", "warm", "ml":
			out = append(out, r)
		}
	}
	return out
}

func (r *reading) roleGroups() []engines.Group {
	members := map[string][]string{}
	excluded := r.settings.excluded()
	for id, n := range r.state.nodes {
		f, known := r.facts[id]
		if !known || slices.Contains(excluded, n.name) {
			continue // a node that is being emptied is about to go, and does not count
		}
		for _, role := range f.served() {
			members[role] = append(members[role], id)
		}
	}
	var out []engines.Group
	for _, role := range slices.Sorted(maps.Keys(members)) {
		g := engines.Group{ID: "role/" + role, Kind: engines.GroupRole, MinAvailable: 1}
		for _, id := range slices.Sorted(slices.Values(members[role])) {
			g.Members = append(g.Members, r.copyOn(id, engines.MemberActive))
		}
		out = append(out, g)
	}
	return out
}

func (r *reading) nodes() []engines.Node {
	out := make([]engines.Node, 0, len(r.state.nodes))
	for _, n := range r.state.nodes {
		out = append(out, engines.Node{Name: n.name, Address: plainAddress(n.address), State: engines.MembershipLive})
	}
	sorted.By(out, func(a, b engines.Node) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return out
}

// plainAddress strips the name of an address that is written as name/address:port.
func plainAddress(text string) string {
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		return text[i+1:]
	}
	return text
}

// Ranks: nodes with the coldest data are restarted first, managers last. A node with several roles
// has the latest rank of them.
const (
	rankFrozen = 10
	rankCold   = 20
	rankWarm   = 30
	rankHot    = 40
	rankData   = 50
	rankOther  = 60
	rankManage = 70
)

func (f nodeFacts) rank() int {
	rank := 0
	for _, r := range f.roles {
		switch r {
		case "data_frozen":
			rank = max(rank, rankFrozen)
		case "data_cold":
			rank = max(rank, rankCold)
		case "data_warm", "warm", "search":
			rank = max(rank, rankWarm)
		case "data_hot":
			rank = max(rank, rankHot)
		case "data", "data_content":
			rank = max(rank, rankData)
		}
	}
	switch {
	case f.manages():
		return rankManage
	case rank > 0:
		return rank
	}
	return rankOther
}
