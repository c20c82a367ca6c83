package database

import (
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// Copy is one replica as it really is.
type Copy struct {
	Pod string
	// Active is true if it serves. Alive: it does, or will by itself, as its data is whole in a
	// process that runs.
	Active, Alive bool
}

// Shard is one shard as it really is.
type Shard struct {
	ID     string
	Leader string // pod
	// Least is how many must be there, of a quorum; else 0.
	Least  int
	Copies []Copy
}

// Truth is what really is, of all shards in order.
func (d *Database) Truth() []Shard {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Shard, 0, len(d.shards))
	for _, s := range d.shards {
		t := Shard{ID: s.id, Least: s.least, Copies: make([]Copy, 0, len(s.copies))}
		if s.leader != "" {
			t.Leader = PodName(s.leader)
		}
		for _, r := range s.copies {
			t.Copies = append(t.Copies, Copy{Pod: PodName(r.node), Active: r.active, Alive: r.alive})
		}
		out = append(out, t)
	}
	return out
}

// Up reports whether the process in a pod runs.
func (d *Database) Up(pod string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[NodeName(pod)]
	return n != nil && n.up
}

// RankOf is the rank of the member in a pod.
func (d *Database) RankOf(pod string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.nodes[NodeName(pod)]; n != nil {
		return n.rank
	}
	return 0
}

// Listed reports whether the register has a pod's member as live.
func (d *Database) Listed(pod string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[NodeName(pod)]
	return n != nil && n.listed
}

// Serves reports whether the process in a pod runs, is not paused, and is a member.
func (d *Database) Serves(pod string) bool {
	return d.every(pod, (*node).serves, func(*replica) bool { return true })
}

// Frozen reports whether the process in a pod is paused.
func (d *Database) Frozen(pod string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[NodeName(pod)]
	return n != nil && n.frozen
}

// Whole reports whether a pod serves and all its copies are active that can be.
func (d *Database) Whole(pod string) bool {
	return d.every(pod, (*node).serves, func(r *replica) bool { return r.active || r.forEver })
}

// RecoversForEver reports whether a copy on a pod, while that serves, tries to recover and never
// will, whatever is restarted. Its member is never settled.
func (d *Database) RecoversForEver(pod string) bool {
	return d.recovers(pod, func(r *replica) bool { return r.forEver })
}

// RecoversInVain is the same of one that only a restart would end.
func (d *Database) RecoversInVain(pod string) bool {
	return d.recovers(pod, func(*replica) bool { return true })
}

func (d *Database) recovers(pod string, which func(*replica) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[NodeName(pod)]
	if n == nil || !n.serves() {
		return false
	}
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == n.name && r.ails && r.state == engines.MemberRecovering && which(r) {
				return true
			}
		}
	}
	return false
}

// There reports whether a pod's member serves all that it could: what is broken on it is missing in
// its own shard, and does not make the pod one that is unavailable.
func (d *Database) There(pod string) bool {
	return d.every(pod, (*node).serves, func(r *replica) bool { return r.active || r.ails })
}

// Alive reports whether the process in a pod runs and the data of all its copies is whole: it
// serves, or will by itself once it is a member again, or goes on.
func (d *Database) Alive(pod string) bool {
	return d.every(pod, func(n *node) bool { return n.up }, func(r *replica) bool { return r.alive || r.forEver })
}

// every reports whether a pod's node is well, and each copy on it.
func (d *Database) every(pod string, node func(*node) bool, copies func(*replica) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[NodeName(pod)]
	if n == nil || !node(n) {
		return false
	}
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == n.name && !copies(r) {
				return false
			}
		}
	}
	return true
}

// Overseer is the pod of the overseer, empty without one.
func (d *Database) Overseer() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return PodName(d.overseer)
}

// Veto is what the member in a pod asks for; who does not serve asks for nothing.
func (d *Database) Veto(pod string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.nodes[NodeName(pod)]; n != nil && n.up {
		return n.veto
	}
	return ""
}

// Marks are what handoffs have left.
func (d *Database) Marks() []Mark {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.marks)
}

// Foreign are the entries that belong to somebody else.
func (d *Database) Foreign() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.foreign)
}
