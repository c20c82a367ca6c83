// Package database is a sharded database in memory, as a clock.Loop drives it: replicas that
// recover, leaders that are elected, a register of live nodes that notices a silent death only
// after a while, an overseer, marks that a handoff leaves. What its members report comes from the
// register and may be wrong; Truth is the real state.
package database

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/engines"
)

// Times of a database.
type Times struct {
	// Boot is from the start of the process to membership, Recovery how long a copy takes from then
	// on, Again how long when its data was lost.
	Boot, Recovery, Anew [2]time.Duration
	// Notice is how long a node that died without a word stays in the register.
	Notice [2]time.Duration
	// Election is how long a shard is without a leader, Handover how long a leader
	// takes to hand over.
	Election, Handover [2]time.Duration
}

// DefaultTimes of a small database.
func DefaultTimes() Times {
	s := time.Second
	return Times{
		Boot: [2]time.Duration{s / 2, 2 * s}, Recovery: [2]time.Duration{s / 2, 3 * s}, Anew: [2]time.Duration{70 * s, 110 * s}, Notice: [2]time.Duration{8 * s, 20 * s},
		Election: [2]time.Duration{s / 2, 2 * s}, Handover: [2]time.Duration{s / 5, s},
	}
}

// Database is one cluster. Members read it from goroutines of their own, so all
// of it is behind a lock; only the loop changes it.
type Database struct {
	loop  *clock.Loop
	times Times

	mu       sync.Mutex
	nodes    map[string]*node
	names    []string // of nodes, in order
	shards   []*shard
	overseer string
	marks    []Mark
	// NoSweep and NoRestore are planted bugs: what is left behind stays.
	NoSweep, NoRestore, NoRestoreShared bool
	// BlindDrains is one, too: members of Galera leave without waiting for anything.
	BlindDrains bool
	// allocation is the setting of the whole database. It is empty if it has none.
	allocation string
	// foreign entries of the same kind as marks must never be touched.
	foreign []string
	// acks is how many replicas must acknowledge, of a database with one primary.
	acks, handovers int
	// fixed is the node of a primary that keeps its role; nobody else ever leads. It is empty if there
	// is none.
	fixed string
	// galera is nil unless all members take writes.
	galera *galera
	// Included is called when data may come again to a pod from which a claim has kept it. It must
	// not call the database.
	Included func(pod, claim string)
	// moves is true if an evacuation moves copies to other nodes. hollow is a planted bug: it says
	// that there are none.
	moves, hollow bool
	// version counts what may have been changed.
	version int
}

// Mark is what a handoff leaves until it is restored.
type Mark struct{ Claim, Node, Shard string }

type node struct {
	name string
	// run counts processes, so that what was scheduled for an earlier one is void.
	run int
	// up is true if a process runs. listed: the register has it as live, in the session that counts
	// them.
	up, listed bool
	session    int
	// frozen is true if the process is paused, for so many times; silent says what who asks it
	// learns. apart is how many have it lose its session.
	frozen, silent bool
	freezes, apart int
	// joined is called when a process that starts is a member.
	joined     func()
	version    string
	rank       int
	busy, veto string
}

type shard struct {
	id      string
	leader  string
	copies  []*replica
	voting  bool // an election is under way
	least   int  // of its members that must be there, of a quorum
	handing bool // a handover is under way
	// stops is the node that was ordered to hand over and has stopped writes for it.
	stops string
}

type replica struct {
	id, node string
	// state is what the register has; active is what is true: it serves. alive: its
	// data is whole in a process that runs, so it will serve again by itself.
	state         engines.MemberState
	active, alive bool
	// recoveries counts them, so that one which was interrupted is void.
	recoveries int
	// ails is true if it does not recover, before its process is started again, or for ever.
	ails, forEver bool
	// since is when it was found to be down, while its process was a member.
	since time.Time
	// lost is true if its data is gone, and will be copied in full.
	lost bool
	// moving is true if it is being copied to another node.
	moving bool
	// waits is true if it recovers once allocation is put back.
	waits bool
}

// New returns a database without nodes.
func New(loop *clock.Loop, times Times) *Database {
	return &Database{loop: loop, times: times, nodes: map[string]*node{}, foreign: []string{"somebody-else"}}
}

// change locks the database for a change, until the returned function is called.
func (d *Database) change() func() {
	d.mu.Lock()
	d.version++
	return d.mu.Unlock
}

// Version is another one when anything may have been changed.
func (d *Database) Version() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.version
}

// NodeName returns the database's name of the member in a pod.
func NodeName(pod string) string { return pod + ":8983_solr" }

// PodName returns the pod of a member.
func PodName(node string) string { name, _, _ := strings.Cut(node, ":"); return name }

// AddShard puts active copies on the pods' nodes; the first leads.
func (d *Database) AddShard(id string, pods ...string) {
	s := &shard{id: id, leader: NodeName(pods[0])}
	for i, pod := range pods {
		s.copies = append(s.copies, &replica{id: fmt.Sprintf("core%d", i+1), node: NodeName(pod), state: engines.MemberActive, active: true, alive: true})
	}
	d.shards = append(d.shards, s)
}

// AddLive adds the node of a pod that has been a member for long.
func (d *Database) AddLive(pod, version string) {
	defer d.change()()
	n := d.nodeOf(pod)
	n.up, n.listed, n.version, n.run = true, true, version, 1
	d.electOverseer()
}

func (d *Database) nodeOf(pod string) *node {
	name := NodeName(pod)
	n := d.nodes[name]
	if n == nil {
		n = &node{name: name}
		d.nodes[name] = n
		d.names = append(d.names, name)
		slices.Sort(d.names)
	}
	return n
}

func (d *Database) draw(r [2]time.Duration) time.Duration { return d.loop.Between(r[0], r[1]) }

// Start begins a process in a pod; ready is called when it is a member.
func (d *Database) Start(pod, version string, ready func()) {
	defer d.change()()
	n := d.nodeOf(pod)
	n.run++
	run := n.run
	n.version, n.frozen, n.joined = version, false, ready
	d.cure(n)
	d.loop.In(d.draw(d.times.Boot), func() {
		defer d.change()()
		if n.run != run {
			return
		}
		if n.up = true; n.apart == 0 {
			d.join(n)
		}
	})
}

// recover brings a copy back once another active one can be copied from, or at
// once when there is none and it is the last.
func (d *Database) recover(n *node, s *shard, r *replica) {
	run, takes := n.run, d.times.Recovery
	if r.waits = d.heldBack(s, r); r.waits {
		r.state, r.active, r.since = engines.MemberDown, false, time.Now()
		return
	}
	if r.lost {
		takes = d.times.Anew
	}
	if r.ails {
		r.state, r.active, r.since = engines.MemberDown, false, time.Now()
		return
	}
	r.state, r.active = engines.MemberRecovering, false
	r.recoveries++
	recovery := r.recoveries
	d.loop.In(d.draw(takes), func() {
		defer d.change()()
		if n.run != run || !n.up || n.frozen || r.recoveries != recovery || r.state != engines.MemberRecovering {
			return // one that is paused begins again when it goes on
		}
		r.state, r.active, r.alive, r.lost = engines.MemberActive, true, true, false
		d.loop.Log("db", "%s of %s is active on %s", r.id, s.id, PodName(n.name))
		d.elect(s)
	})
}

// Stop ends the process in a pod. A graceful stop leaves the register at once; otherwise the
// register has the node for as long as Times.Notice says.
func (d *Database) Stop(pod string, graceful bool) {
	defer d.change()()
	n := d.nodeOf(pod)
	n.run++
	if !n.up {
		return
	}
	graceful = graceful && !n.frozen
	n.up, n.frozen = false, false
	if d.galera != nil {
		r := d.copyOf(n)
		r.active, r.alive = false, false
		d.ends(n, graceful)
		return
	}
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == n.name {
				r.active, r.alive = false, false
			}
		}
	}
	if graceful {
		d.unlist(n)
		return
	}
	session := n.session // is over then, unless the next process has joined
	d.loop.In(d.draw(d.times.Notice), func() {
		defer d.change()()
		if n.session == session && n.listed {
			d.loop.Log("db", "%s is found to be gone", pod)
			d.unlist(n)
		}
	})
}

// elect gives a shard a leader after a while, if it has none.
func (d *Database) elect(s *shard) {
	if s.leader != "" || s.voting || d.galera != nil {
		return
	}
	s.voting = true
	d.loop.In(d.draw(d.times.Election), func() {
		defer d.change()()
		s.voting = false
		if s.leader != "" {
			return
		}
		for _, r := range s.copies {
			if r.active && (d.fixed == "" || r.node == d.fixed) {
				s.leader = r.node
				d.loop.Log("db", "%s leads %s", PodName(r.node), s.id)
				return
			}
		}
	})
}

func (d *Database) electOverseer() {
	if d.overseer != "" || d.acks > 0 || d.galera != nil {
		return
	}
	for _, name := range d.names {
		if d.nodes[name].serves() {
			d.overseer = name
			return
		}
	}
}

// Rank makes the member in a pod of a kind that is restarted after those of lower ones.
func (d *Database) Rank(pod string, rank int) { d.nodeOf(pod).rank = rank }

// Leave adds a mark that somebody has left.
func (d *Database) Leave(m Mark) {
	defer d.change()()
	d.marks = append(d.marks, m)
}

// SetVeto has the member in a pod ask not to be disturbed; empty ends that.
func (d *Database) SetVeto(pod, veto string) {
	defer d.change()()
	d.nodeOf(pod).veto = veto
}

// Lose removes the data of a pod's volume: its copies are made again when the pod starts the next
// time, if there are others to copy from.
func (d *Database) Lose(pod string) {
	defer d.change()()
	for _, s := range d.shards {
		for _, r := range s.copies {
			r.lost = r.lost || r.node == NodeName(pod) && len(s.copies) > 1
		}
	}
}
