package solr

import (
	"cmp"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// groups makes one group of every shard that counts.
func (c *clusterState) groups() []engines.Group {
	out := []engines.Group{}
	for _, col := range c.collections {
		for _, s := range col.shards {
			if s.counts() {
				out = append(out, c.group(col.name, s))
			}
		}
	}
	return out
}

func (c *clusterState) group(collection string, s shard) engines.Group {
	g := engines.Group{
		ID:   collection + "/" + s.name,
		Kind: engines.GroupShard,
		// The parts of a split in progress are not searched yet; losing one makes
		// the split fail, so they count as being moved.
		NeedsLeader: !s.building(),
		Moving:      s.building(),
		Members:     make([]engines.Member, 0, len(s.replicas)),
	}
	for _, r := range s.replicas {
		state := c.memberState(r)
		if !s.known() {
			state = engines.MemberUnknown
		}
		g.Members = append(g.Members, engines.Member{
			ID: r.name, Node: r.node, State: state, Leader: c.leads(r), Eligible: r.canLead(),
		})
	}
	return g
}

// memberState returns the state of a copy. On a dead node a copy is down, whatever it says.
func (c *clusterState) memberState(r replica) engines.MemberState {
	if !c.isLive(r.node) {
		return engines.MemberDown
	}
	switch r.state {
	case "active":
		return engines.MemberActive
	case "recovering":
		return engines.MemberRecovering
	case "down", "recovery_failed":
		return engines.MemberDown
	}
	return engines.MemberUnknown
}

// nodes are the live ones, and the others that host replicas.
func (c *clusterState) nodes() []engines.Node {
	byName := make(map[string]engines.Node, len(c.live))
	for _, name := range c.live {
		byName[name] = engines.Node{Name: name, Address: nodeAddress(name), State: engines.MembershipLive}
	}
	for r := range c.replicas() {
		n, known := byName[r.node]
		if !known {
			n = engines.Node{Name: r.node, State: engines.MembershipNotLive}
		}
		n.Address = r.address()
		byName[r.node] = n
	}
	out := make([]engines.Node, 0, len(byName))
	for _, n := range byName {
		out = append(out, n)
	}
	sorted.By(out, func(a, b engines.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// unfit returns the copies on the node that are not active, sorted, with their states, and how many
// of them are only known to be down.
func unfit(groups []engines.Group, node string) (down int, words []string) {
	for _, g := range groups {
		for _, m := range g.Members {
			if m.Node != node || m.State == engines.MemberActive {
				continue
			}
			if m.State == engines.MemberDown {
				down++
			}
			words = append(words, g.ID+"/"+m.ID+" "+m.State.String())
		}
	}
	return down, words
}
