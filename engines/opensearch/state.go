package opensearch

import (
	"slices"
	"strings"
)

// clusterState is what the elected manager says of nodes and copies, in sorted order. Readers share
// it after decoding and must not change it.
type clusterState struct {
	id       string // state_uuid: another one for every change
	cluster  string // cluster_uuid
	elected  string // node id of the elected manager; empty means none
	nodes    map[string]stateNode
	shards   []shard
	snapshot string // that is being taken
}

type stateNode struct {
	name, process, address string
}

// shard with all its copies, assigned or not.
type shard struct {
	index, number string
	copies        []shardCopy
}

func (s shard) String() string { return s.index + "/" + s.number }

// shardCopy is one row of the routing table. A copy that moves is one row, which
// names the node that it leaves and the one that it goes to.
type shardCopy struct {
	primary bool
	state   copyState
	node    string // id; empty means unassigned
	target  string // id of where it moves to
	// Of an unassigned one:
	why     string // NODE_LEFT and so on
	left    string // id of the node that left, where OpenSearch names it
	delayed bool   // OpenSearch itself waits for the node's return
}

type copyState uint8

const (
	copyUnknown copyState = iota
	started
	initializing
	relocating
	unassigned
)

func copyStateOf(text string) copyState {
	switch text {
	case "STARTED":
		return started
	case "INITIALIZING":
		return initializing
	case "RELOCATING":
		return relocating
	case "UNASSIGNED":
		return unassigned
	}
	return copyUnknown
}

// serves reports whether the copy answers; one that moves does so at its source.
func (c shardCopy) serves() bool { return c.state == started || c.state == relocating }

// on reports whether the node has the copy or is about to get it.
func (c shardCopy) on(id string) bool { return id != "" && (c.node == id || c.target == id) }

func (s shard) on(id string) bool {
	return slices.ContainsFunc(s.copies, func(c shardCopy) bool { return c.on(id) })
}

func (s shard) primary() (shardCopy, bool) {
	i := slices.IndexFunc(s.copies, func(c shardCopy) bool { return c.primary })
	if i < 0 {
		return shardCopy{}, false
	}
	return s.copies[i], true
}

// hosted counts copies that name the node as where they are or where they go.
func (c *clusterState) hosted(id string) int {
	n := 0
	for _, s := range c.shards {
		for _, copy := range s.copies {
			if copy.on(id) {
				n++
			}
		}
	}
	return n
}

// byName returns the id of a node; ok only when exactly one has the name.
func (c *clusterState) byName(name string) (id string, ok bool) {
	n := 0
	for at, node := range c.nodes {
		if node.name == name {
			id = at
			n++
		}
	}
	return id, n == 1
}

// nodeFacts is what nodes say of themselves.
type nodeFacts struct {
	name, version string
	roles         []string
}

// manages reports whether the node may be elected.
func (f nodeFacts) manages() bool {
	return slices.Contains(f.roles, "cluster_manager") || slices.Contains(f.roles, "master")
}

// holdsData reports whether the node has the role data, that of a tier, or one of the two roles
// whose nodes hold copies of searchable snapshots.
func (f nodeFacts) holdsData() bool {
	return f.takesCopies() || slices.Contains(f.roles, "search") || slices.Contains(f.roles, "warm")
}

// takesCopies reports whether copies of any ordinary index may go there.
func (f nodeFacts) takesCopies() bool {
	return slices.ContainsFunc(f.roles, func(r string) bool { return r == "data" || strings.HasPrefix(r, "data_") })
}

// voting is the part of the metadata that says who decides.
type voting struct {
	committed, accepted []string // node ids
	exclusions          []exclusion
}

type exclusion struct{ ID, Name string }

// absent stands for what is not known of an excluded node.
const absent = "_absent_"

// same reports whether both mean one node. Its id is not known while it is unavailable.
func (e exclusion) same(o exclusion) bool {
	return e.Name != absent && e.Name == o.Name || e.ID != absent && e.ID == o.ID
}

// excludes reports whether the node is kept from voting.
func (v voting) excludes(id, name string) bool {
	return slices.ContainsFunc(v.exclusions, exclusion{id, name}.same)
}
