package database

import (
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// excluded stands for the shard in a mark that keeps copies off a node.
const excluded = ""

// Move has evacuations move copies to other nodes, as long as there is room. Hollow
// is a planted bug: nothing is moved, and nobody tells.
func (d *Database) Move(hollow bool) { d.moves, d.hollow = true, hollow }

// evacuate keeps copies off a node, begins to move those that it has, and returns how many are
// left. d.mu is held.
func (d *Database) evacuate(self, claim string) int {
	mark := Mark{claim, self, excluded}
	if !slices.Contains(d.marks, mark) {
		d.marks = append(d.marks, mark)
		d.loop.Log("db", "%s is excluded for %s", PodName(self), claim)
	}
	left := 0
	if d.hollow {
		return left
	}
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == self && s.least == 0 {
				left++
				d.moveAway(s, r, mark)
			}
		}
	}
	return left
}

// moveAway copies a replica to a node that has none of its shard.
func (d *Database) moveAway(s *shard, r *replica, mark Mark) {
	to := d.roomFor(s)
	if r.moving || to == "" || !s.readable() {
		return
	}
	r.moving = true
	d.loop.In(d.draw(d.times.Recovery), func() {
		defer d.change()()
		r.moving = false
		if !slices.Contains(d.marks, mark) || r.node != mark.Node || !d.takes(to, s) || !s.readable() {
			return
		}
		d.relocate(s, r, to)
	})
}

// relocate has a copy be on another node, where it serves.
func (d *Database) relocate(s *shard, r *replica, to string) {
	from := r.node
	r.node, r.state, r.active, r.alive, r.lost, r.waits = to, engines.MemberActive, true, true, false, false
	r.ails, r.forEver = false, false
	if s.leader == from {
		s.leader = to
	}
	d.loop.Log("db", "%s of %s has moved from %s to %s", r.id, s.id, PodName(from), PodName(to))
}

// Relocate moves the copy of a shard from one pod to another at once.
func (d *Database) Relocate(id, from, to string) {
	defer d.change()()
	for _, s := range d.shards {
		for _, r := range s.copies {
			if s.id == id && r.node == NodeName(from) {
				d.relocate(s, r, NodeName(to))
			}
		}
	}
}

// readable reports whether there is a copy to copy from.
func (s *shard) readable() bool {
	return slices.ContainsFunc(s.copies, func(r *replica) bool { return r.active })
}

// serves reports whether the copy on that node serves. It may have moved in the meantime.
func (s *shard) serves(node string) bool {
	return slices.ContainsFunc(s.copies, func(r *replica) bool { return r.node == node && r.active })
}

func (d *Database) roomFor(s *shard) string {
	for _, name := range d.names {
		if d.takes(name, s) {
			return name
		}
	}
	return ""
}

// takes reports whether a node serves, is not excluded and has no copy of the shard.
func (d *Database) takes(name string, s *shard) bool {
	return d.nodes[name].serves() &&
		!slices.ContainsFunc(d.marks, func(m Mark) bool { return m.Node == name && m.Shard == excluded }) &&
		!slices.ContainsFunc(s.copies, func(r *replica) bool { return r.node == name })
}

// include tells of marks that are taken back.
func (d *Database) include(gone []Mark) {
	for _, m := range gone {
		if m.Shard == excluded && d.Included != nil {
			d.Included(PodName(m.Node), m.Claim)
		}
	}
}
