// Package memory is a database that lives in memory: nodes that host copies of
// groups, leaders, recovery. It is for tests of everything above the engines
// contract, and passes the same conformance suite as the real adapters.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Cluster is one database. All engines of it share the value; every method may be
// called at any time.
type Cluster struct {
	options Options

	mu     sync.Mutex
	nodes  map[string]*node
	groups []*group // sorted by ID
	marks  map[mark]bool
	// allocation is the present value of Options.Allocation.
	allocation string

	hook   Hook
	garble func(node string, o *engines.Observation)
	calls  []Call
}

// Options are the options of a cluster; the zero value recovers at once.
type Options struct {
	// Recovery is how long a copy of a started node recovers.
	Recovery time.Duration
	// Step is how much one Drain does: shards led away or copies moved. 0 means all.
	Step int
	// Allocation is a cluster setting, which drains change to Throttled if ordered. Empty means
	// that there is none.
	Allocation string
}

// Hook runs before each operation, outside the lock. It may block until ctx ends
// (a hung server) or answer an error (a broken one); nil lets the operation go on.
type Hook func(ctx context.Context, call Call) error

// Call is one operation on an engine.
type Call struct {
	Node string
	Op   Op
	// Order is the order of PlanDrain and Drain.
	Order engines.Order
}

// Op is a kind of operation. Write stands for a single change within Drain,
// Restore or Sweep, so that a hook can make them fail half way.
type Op string

const (
	Observe        Op = "Observe"
	PlanDrain      Op = "PlanDrain"
	PlanSetting    Op = "PlanSetting"
	Drain          Op = "Drain"
	Restore        Op = "Restore"
	RestoreSetting Op = "RestoreSetting"
	Sweep          Op = "Sweep"
	Write          Op = "Write"
)

type node struct {
	name, version string
	state         engines.Membership
	roles         []string
	last          bool
	busy, veto    string
	dataBytes     int64
	recoverAt     time.Time
}

type group struct {
	id      string
	leader  string // node; empty means none
	members []*copyOf
}

type copyOf struct {
	node  string
	state engines.MemberState
}

// mark is what a handoff leaves in the database until it is restored.
type mark struct{ claim, node, group string }

// New makes a database with these nodes, live, at version 1.0.0 and without data.
func New(options Options, nodes ...string) *Cluster {
	c := &Cluster{options: options, nodes: map[string]*node{}, marks: map[mark]bool{}, allocation: options.Allocation}
	for _, name := range nodes {
		c.nodes[name] = &node{name: name, version: "1.0.0", state: engines.MembershipLive}
	}
	return c
}

// AddGroup puts active copies of a shard on the nodes; the first one leads it.
// It panics when the group exists or a node does not: the test is wrong then.
func (c *Cluster) AddGroup(id string, nodes ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.find(id) != nil || len(nodes) == 0 {
		panic(fmt.Sprintf("memory: group %q: must be a new id and at least one node", id))
	}
	g := &group{id: id, leader: nodes[0]}
	for _, n := range nodes {
		c.mustNode(n)
		g.members = append(g.members, &copyOf{node: n, state: engines.MemberActive})
	}
	c.groups = append(c.groups, g)
	slices.SortFunc(c.groups, func(a, b *group) int { return cmp.Compare(a.id, b.id) })
}

// AddNode adds a live node without copies.
func (c *Cluster) AddNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[name] = &node{name: name, version: "1.0.0", state: engines.MembershipLive}
}

// Intercept sets the hook of all engines; nil removes it.
func (c *Cluster) Intercept(hook Hook) { c.locked(func() { c.hook = hook }) }

// Garble sets a function that changes observations before they are returned, for
// wrong and partial answers; nil removes it.
func (c *Cluster) Garble(f func(node string, o *engines.Observation)) {
	c.locked(func() { c.garble = f })
}

// Stop stops a node. Each group that it led elects another active copy.
func (c *Cluster) Stop(name string) {
	c.locked(func() {
		n := c.mustNode(name)
		c.settle()
		n.state, n.recoverAt = engines.MembershipNotLive, time.Time{}
		for _, g := range c.groups {
			for _, m := range g.members {
				if m.node == name {
					m.state = engines.MemberDown
				}
			}
			if g.leader == name {
				g.leader = ""
			}
		}
		c.elect()
	})
}

// Start starts a node again. Its copies are Recovering for Options.Recovery.
func (c *Cluster) Start(name string) {
	c.locked(func() {
		n := c.mustNode(name)
		n.state, n.recoverAt = engines.MembershipLive, time.Now().Add(c.options.Recovery)
		for _, g := range c.groups {
			for _, m := range g.members {
				if m.node == name && m.state == engines.MemberDown {
					m.state = engines.MemberRecovering
				}
			}
		}
		c.settle()
	})
}

// SetVersion sets the version that the node reports from now on.
func (c *Cluster) SetVersion(name, version string) {
	c.locked(func() { c.mustNode(name).version = version })
}

// SetRoles sets the roles of a node; last is as in Observation.Last.
func (c *Cluster) SetRoles(name string, last bool, roles ...string) {
	c.locked(func() { n := c.mustNode(name); n.last, n.roles = last, slices.Clone(roles) })
}

// SetBusy sets what a node is busy with and its veto; empty means none.
func (c *Cluster) SetBusy(name, busy, veto string) {
	c.locked(func() { n := c.mustNode(name); n.busy, n.veto = busy, veto })
}

// SetMembership sets the membership of the node without touching its copies.
func (c *Cluster) SetMembership(name string, state engines.Membership) {
	c.locked(func() { c.mustNode(name).state = state })
}

// SetDataBytes sets how much data the node reports.
func (c *Cluster) SetDataBytes(name string, size int64) {
	c.locked(func() { c.mustNode(name).dataBytes = size })
}

// SetMember sets the state of one copy. A leader that is not Active stops leading.
func (c *Cluster) SetMember(groupID, nodeName string, state engines.MemberState) {
	c.locked(func() {
		g := c.mustGroup(groupID)
		g.member(nodeName).state = state
		if g.leader == nodeName && state != engines.MemberActive {
			g.leader = ""
			c.elect()
		}
	})
}

// SetLeader sets the leader of a group; empty means that the group has none until an election.
func (c *Cluster) SetLeader(groupID, nodeName string) {
	c.locked(func() { c.mustGroup(groupID).leader = nodeName })
}

// Leader returns the node that leads the group, empty when none does.
func (c *Cluster) Leader(groupID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mustGroup(groupID).leader
}

// Leads counts the groups that the node leads.
func (c *Cluster) Leads(nodeName string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, g := range c.groups {
		if g.leader == nodeName {
			n++
		}
	}
	return n
}

// Hosts counts the copies on the node.
func (c *Cluster) Hosts(nodeName string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, g := range c.groups {
		for _, m := range g.members {
			if m.node == nodeName {
				n++
			}
		}
	}
	return n
}

// Marks names what handoffs have left in the database: "claim node group".
func (c *Cluster) Marks() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []string{}
	for m := range c.marks {
		out = append(out, m.claim+" "+m.node+" "+m.group)
	}
	slices.Sort(out)
	return out
}

// Calls returns all operations so far, in order, without Writes.
func (c *Cluster) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *Cluster) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// settle makes copies active whose recovery has ended. Called with the lock.
func (c *Cluster) settle() {
	for _, g := range c.groups {
		for _, m := range g.members {
			n := c.nodes[m.node]
			if m.state == engines.MemberRecovering && n.state == engines.MembershipLive && !n.recoverAt.IsZero() && !time.Now().Before(n.recoverAt) {
				m.state = engines.MemberActive
			}
		}
	}
	c.elect()
}

// elect gives every group without a leader its first active copy.
func (c *Cluster) elect() {
	for _, g := range c.groups {
		if g.leader != "" {
			continue
		}
		for _, m := range g.members {
			if m.state == engines.MemberActive {
				g.leader = m.node
				break
			}
		}
	}
}

func (c *Cluster) find(id string) *group {
	for _, g := range c.groups {
		if g.id == id {
			return g
		}
	}
	return nil
}

func (c *Cluster) mustNode(name string) *node {
	n := c.nodes[name]
	if n == nil {
		panic(fmt.Sprintf("memory: no node %q", name))
	}
	return n
}

func (c *Cluster) mustGroup(id string) *group {
	g := c.find(id)
	if g == nil {
		panic(fmt.Sprintf("memory: no group %q", id))
	}
	return g
}

func (g *group) member(node string) *copyOf {
	for _, m := range g.members {
		if m.node == node {
			return m
		}
	}
	panic(fmt.Sprintf("memory: no copy of %q on %q", g.id, node))
}
